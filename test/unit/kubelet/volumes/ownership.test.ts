// Who gets a local volume, when, and how often.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import { FakeTrees } from '../../../../src/kernel/tree/fake.js';
import { podDir } from '../../../../src/kubelet/volumes/files.js';
import { type LocalVolume, ownByGroup, ownByPod } from '../../../../src/kubelet/volumes/ownership.js';
import { podOf } from '../support.js';

const DISK = '/mnt/disk';
const KEY = `${DISK}/key`;
let rootDir: string;
beforeEach(() => {
  rootDir = mkdtempSync(path.join(tmpdir(), 'trellis-own-'));
});
afterEach(() => rmSync(rootDir, { recursive: true }));

function scene() {
  const trees = new FakeTrees();
  trees.put(DISK, { kind: 'directory', mode: 0o755 });
  trees.put(KEY, { mode: 0o600 });
  const give = (
    uid: string,
    fsGroup: number | undefined,
    more: Partial<LocalVolume> = {},
    policy = 'Always',
  ) => {
    const pod = podOf({ securityContext: { fsGroup, fsGroupChangePolicy: policy } });
    const own = { ...pod, metadata: { ...pod.metadata, uid } };
    const volume = { rootDir, pod: own, volume: 'data', dir: DISK, readOnly: false, ...more };
    return ownByPod({ trees, log: silentLog }, volume);
  };
  const entry = (at: string) => trees.entries.get(at);
  return { trees, give, entry };
}

test('a local volume is given at the first set-up, and what the pod does later stays', async () => {
  const { give, entry } = scene();
  await give('u1', 4242);
  expect(entry(KEY)).toMatchObject({ gid: 4242, mode: 0o660 });
  Object.assign(entry(KEY) ?? {}, { mode: 0o600 });
  await give('u1', 4242);
  expect(entry(KEY)?.mode).toBe(0o600);
});

test('not while another pod has it, and again after that one is gone', async () => {
  const { give, entry } = scene();
  await give('u1', undefined);
  await give('u2', 4242);
  expect(entry(KEY)?.mode).toBe(0o600);
  for (const uid of ['u1', 'u2']) rmSync(podDir(rootDir, uid), { recursive: true });
  await give('u3', 4242);
  expect(entry(KEY)?.mode).toBe(0o660);
});

test('a claim that is only read is left alone', async () => {
  const { give, entry } = scene();
  await give('u1', 4242, { readOnly: true });
  expect(entry(KEY)).toMatchObject({ gid: 0, mode: 0o600 });
});

test('OnRootMismatch looks at the root: its group and all bits, those of its owner too', async () => {
  const { give, entry } = scene();
  Object.assign(entry(DISK) ?? {}, { gid: 4242, mode: 0o2770 });
  await give('u1', 4242, {}, 'OnRootMismatch');
  expect(entry(KEY)?.mode).toBe(0o600);
  rmSync(podDir(rootDir, 'u1'), { recursive: true });
  Object.assign(entry(DISK) ?? {}, { mode: 0o2070 });
  await give('u2', 4242, {}, 'OnRootMismatch');
  expect(entry(KEY)?.mode).toBe(0o660);
});

test('files that keep their owner are told, and the pod starts', async () => {
  const told: object[] = [];
  const trees = new FakeTrees();
  trees.own = async () => ({ changed: 1, refused: 2, code: 'EPERM' });
  const log = { ...silentLog, warn: (_: string, fields?: object) => void told.push(fields ?? {}) };
  await ownByGroup({ trees, log }, DISK, 1, { writable: true });
  expect(told).toEqual([{ dir: DISK, gid: 1, refused: 2, code: 'EPERM' }]);
});
