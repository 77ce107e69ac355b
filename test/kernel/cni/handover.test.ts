// A live node changes from the reference plugins to ours and back: reservations are the same files under the same lock.
// Guarantees: whoever made an attachment, the other one sees it, checks it and takes it away.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { callPlugin, OURS, REFERENCE, succeed } from '../../support/cni/plugin.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-handover-'));
});
afterEach(() => rmSync(root, { recursive: true }));

interface Added {
  readonly ips: { address: string }[];
}
const reserved = () => readdirSync(path.join(root, 'net')).filter((name) => /^(10\.|fd00)/.test(name));
const config = (type: string, more: object = {}) => ({
  cniVersion: '1.0.0',
  name: 'net',
  type,
  bridge: 'br0',
  isDefaultGateway: true,
  ...more,
  ipam: {
    type: 'host-local',
    dataDir: root,
    ranges: [[{ subnet: '10.9.0.0/24', rangeEnd: '10.9.0.9' }], [{ subnet: 'fd00:9::/64' }]],
  },
});
const alone = (bin: string, command: 'ADD' | 'DEL' | 'CHECK', containerId: string, more: object = {}) => ({
  bin,
  plugin: 'host-local',
  command,
  containerId,
  netns: '/run/netns/none',
  config: config('host-local', more),
});

describeWith(
  {
    root: true,
    tools: ['ip', 'nft', 'nsenter'],
    files: [`${REFERENCE}/bridge`, `${REFERENCE}/host-local`],
    features: ['veth', 'bridge'],
  },
  'hand-over',
  () => {
    const namespaces = netNsPerTest();

    describe.each([
      { from: REFERENCE, to: OURS, way: 'from the reference to ours' },
      { from: OURS, to: REFERENCE, way: 'from ours to the reference' },
    ])('$way', ({ from, to }) => {
      test('host-local: the one goes on where the other stopped, and gives back what it reserved', async () => {
        const first = await succeed<Added>(alone(from, 'ADD', 'c1'));
        const second = await succeed<Added>(alone(to, 'ADD', 'c2'));
        expect([first, second].flatMap(({ ips }) => ips.map(({ address }) => address))).toEqual([
          '10.9.0.2/24',
          'fd00:9::2/64',
          '10.9.0.3/24',
          'fd00:9::3/64',
        ]);
        await succeed(alone(to, 'CHECK', 'c1', { prevResult: first }));
        await succeed(alone(from, 'CHECK', 'c2', { prevResult: second }));
        expect((await callPlugin(alone(to, 'ADD', 'c1'))).code).toBe(1);
        await succeed(alone(to, 'DEL', 'c1'));
        expect(reserved()).toEqual(['10.9.0.3', 'fd00:9::3']);
        await succeed(alone(from, 'DEL', 'c2'));
        expect(reserved()).toEqual([]);
      });

      test('bridge: what the one attached, the other checks and detaches', async () => {
        const [host, container] = [await namespaces.make(), await namespaces.make()];
        const call = (bin: string, command: 'ADD' | 'DEL' | 'CHECK', more: object = {}) =>
          succeed<Added>({
            bin,
            plugin: 'bridge',
            command,
            host: host.path,
            netns: container.path,
            config: config('bridge', more),
          });
        const prevResult = await call(from, 'ADD');
        await call(to, 'CHECK', { prevResult });
        await call(to, 'DEL', { prevResult });
        expect(reserved()).toEqual([]);
        expect(await container.run('ip', '-br', 'link')).not.toContain('eth0');
        expect(await host.run('ip', '-br', 'link', 'show', 'type', 'veth')).toBe('');
        await call(to, 'ADD');
        await call(from, 'DEL');
        expect(reserved()).toEqual([]);
      });
    });

    test('both at once wait for each other: no address is handed out twice', async () => {
      const calls = Array.from({ length: 40 }, (_, i) => {
        const ranges = [[{ subnet: '10.9.0.0/24' }]];
        const call = alone(i % 2 === 0 ? OURS : REFERENCE, 'ADD', `c${i}`);
        return succeed<Added>({
          ...call,
          config: { ...call.config, ipam: { ...call.config.ipam, ranges } },
        });
      });
      const results = await Promise.all(calls);
      expect(new Set(results.map(({ ips }) => ips[0]?.address)).size).toBe(40);
      expect(reserved()).toHaveLength(40);
    });
  },
);
