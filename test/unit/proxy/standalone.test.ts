// A proxy that waits for the object of its node says so.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Log } from '../../../src/api/log.js';
import { silentLog } from '../../../src/api/log.js';
import { NODES } from '../../../src/api/resources.js';
import { settle } from '../../../src/proxy/config.js';
import { findNode, nodeIps, startProxy } from '../../../src/proxy/standalone.js';
import { StaticInformers } from '../../support/staticInformers.js';

const node = { metadata: { name: 'n1', uid: 'u', resourceVersion: '1', creationTimestamp: '' } };

test('waits for what is needed of its Node, and says so', async () => {
  const said: string[] = [];
  const log: Log = { ...silentLog, info: (text: string) => void said.push(text) };
  const informers = new StaticInformers();
  informers.of(NODES).set({ ...node, spec: {} } as never);
  const finding = findNode(
    { informers, nodeName: 'n1', log },
    { until: ({ spec }) => (spec.podCIDRs ?? []).length > 0, waitMs: 300_000 },
  );
  await expect.poll(() => said).toEqual([expect.stringMatching(/no range of pods yet.* 300 s/)]);
  informers.of(NODES).set({ ...node, spec: { podCIDRs: ['10.244.3.0/24'] } } as never);
  expect((await finding)?.spec.podCIDRs).toEqual(['10.244.3.0/24']);
});

test('gives up with NodeCIDR where its Node gets no range, but only after it has waited', async () => {
  const lockDir = mkdtempSync(path.join(tmpdir(), 'trellis-standalone-'));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const said: string[] = [];
    const log: Log = { ...silentLog, info: (text: string) => void said.push(text) };
    const informers = new StaticInformers();
    informers.of(NODES).set({ ...node, spec: {} } as never);
    let ended: unknown;
    const config = settle({ detectLocalMode: 'NodeCIDR', mode: 'nftables' });
    const starting = startProxy({ config, informers, nodeName: 'n1', table: 't', lockDir, log }).catch(
      (error: unknown) => {
        ended = error;
      },
    );
    await vi.waitFor(() => expect(said).toEqual([expect.stringContaining('no range of pods yet')]));
    await vi.advanceTimersByTimeAsync(299_000);
    expect(ended).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1000);
    await starting;
    expect(ended).toMatchObject({ code: 'BAD_CONFIG', message: expect.stringContaining('NodeCIDR') });
  } finally {
    vi.useRealTimers();
    rmSync(lockDir, { recursive: true });
  }
});

test('says that it waits for its Node, and goes on when that is there', async () => {
  const said: string[] = [];
  const log: Log = { ...silentLog, info: (text: string) => void said.push(text) };
  const informers = new StaticInformers();
  const finding = findNode({ informers, nodeName: 'n1', log });
  await expect.poll(() => said).toEqual([expect.stringMatching(/no Node of this name yet.* 30 s/)]);
  informers.of(NODES).set(node as never);
  expect((await finding)?.metadata.name).toBe('n1');
  await findNode({ informers, nodeName: 'n1', log });
  expect(said).toHaveLength(1);
});

test.each([
  ['0.0.0.0', ['10.0.0.1', 'fd00::1']],
  ['::', ['10.0.0.1', 'fd00::1']],
  ['10.0.0.9', ['10.0.0.9', '10.0.0.1', 'fd00::1']],
])('bindAddress %s: the addresses of the node are %j', (bindAddress, expected) => {
  const addresses = [
    { type: 'Hostname', address: 'n1' },
    { type: 'InternalIP', address: '10.0.0.1' },
    { type: 'InternalIP', address: 'fd00::1' },
  ];
  expect(nodeIps({ bindAddress }, { ...node, status: { addresses } } as never)).toEqual(expected);
});
