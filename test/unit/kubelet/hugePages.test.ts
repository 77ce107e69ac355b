import { describe, expect, test } from 'vitest';
import type { V1PodSpec } from '../../../src/api/gen/types.js';
import { isHugePages, kernelSize, namesOfPages, pageSizeOf } from '../../../src/kubelet/hugePages.js';
import { container } from './support.js';

const MIB = 2 ** 20;
const asking = (...names: readonly string[]): V1PodSpec => ({
  containers: names.map((name, index) =>
    container(`c${index}`, { resources: { requests: { [name]: '1Gi' }, limits: { [name]: '1Gi' } } }),
  ),
});

describe('huge pages', () => {
  test.each([
    [64 * 1024, '64KB'],
    [2 * MIB, '2MB'],
    [2 ** 30, '1GB'],
  ])('%i bytes are %s to the kernel', (bytes, name) => {
    expect(kernelSize(bytes)).toBe(name);
  });

  test('names are found by the size that they mean', () => {
    const names = namesOfPages({ limits: { 'hugepages-2048Ki': '4Mi', cpu: '1', 'hugepages-x': '1' } });
    expect([...names]).toEqual([[2 * MIB, 'hugepages-2048Ki']]);
  });

  test('the pages of a volume are some that the pod asks for', () => {
    expect(['', 'Memory', 'HugePages', 'HugePages-2Mi', 'HugePagesX'].map(isHugePages)).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
    expect(pageSizeOf('HugePages', asking('hugepages-2Mi', 'hugepages-2Mi'))).toBe(2 * MIB);
    expect(pageSizeOf('HugePages-1Gi', asking('hugepages-2Mi', 'hugepages-1Gi'))).toBe(2 ** 30);
  });

  test.each<[string, V1PodSpec, string]>([
    ['HugePages', asking('hugepages-2Mi', 'hugepages-1Gi'), "can't be used if container requests multiple"],
    ['HugePages', asking('memory'), 'medium HugePages: hugePages storage requested, but there is no'],
    ['HugePages-1Gi', asking('hugepages-2Mi'), 'medium HugePages-1Gi: hugePages storage requested, but'],
    ['HugePages-many', asking('hugepages-2Mi'), 'unknown storage medium "HugePages-many"'],
  ])('%s that cannot be had is refused', (medium, spec, words) => {
    expect(() => pageSizeOf(medium, spec)).toThrow(words);
  });
});
