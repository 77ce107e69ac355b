import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import { FakeTrees } from '../../../../src/kernel/tree/fake.js';
import { memorySize, setUpEmptyDir } from '../../../../src/kubelet/volumes/emptyDir.js';
import { container, podOf } from '../support.js';

const MIB = 2n ** 20n;
const limited = (memory?: string) =>
  podOf({
    containers: [container('web', memory === undefined ? {} : { resources: { limits: { memory } } })],
  });

test.each([
  ['all that the node has for pods', undefined, undefined, '64Mi', 64n],
  ["the pod's own limit", undefined, '32Mi', '64Mi', 32n],
  ['what the volume asks for', '16Mi', '32Mi', '64Mi', 16n],
  ["no more than the pod's limit", '48Mi', '32Mi', '64Mi', 32n],
  ['no more than the node has', '128Mi', undefined, '64Mi', 64n],
  ['a limit of nothing is none', '0', undefined, '64Mi', 64n],
  ['what the volume asks for where nothing else is known', '16Mi', undefined, undefined, 16n],
])('a volume in memory holds %s', (_, sizeLimit, podLimit, allocatable, mebibytes) => {
  expect(memorySize(sizeLimit, limited(podLimit), allocatable)).toBe(mebibytes * MIB);
});

test('where nothing is known the kernel decides', () => {
  expect(memorySize(undefined, limited(), undefined)).toBeUndefined();
});

test('a directory on disk is given to its pod once; what the pod makes of it later stays', async () => {
  const rootDir = mkdtempSync(path.join(tmpdir(), 'trellis-empty-'));
  try {
    const trees = new FakeTrees();
    const pod = podOf({ securityContext: { fsGroup: 2000 } });
    const dir = path.join(rootDir, 'data');
    mkdirSync(dir);
    trees.put(dir, { kind: 'directory', mode: 0o777 });
    const setUp = () =>
      setUpEmptyDir({ rootDir, pod, volume: 'data', dir, source: {}, owner: { trees, log: silentLog } });
    await setUp();
    expect([statSync(dir).mode & 0o777, trees.entries.get(dir)?.gid]).toEqual([0o777, 2000]);
    chmodSync(dir, 0o700);
    const key = `${dir}/key`;
    trees.put(key, { mode: 0o600 });
    await setUp();
    expect([statSync(dir).mode & 0o777, trees.entries.get(key)?.mode]).toEqual([0o700, 0o600]);
  } finally {
    rmSync(rootDir, { recursive: true });
  }
});
