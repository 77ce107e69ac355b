import { expect, test } from 'vitest';
import { memorySize } from '../../../../src/kubelet/volumes/emptyDir.js';
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
