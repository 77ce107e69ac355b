// The hash by which a kubelet knows whether a running container is the one that its pod asks for.
// The expected values are those of kubecontainer.HashContainer of Kubernetes v1.36.4.
import { describe, expect, test } from 'vitest';
import { containerHash } from '../../../src/kubelet/names.js';

describe("a container's hash", () => {
  test.each([
    ['foo', 'bar', '11a6d6d6'],
    ['test_container', 'foo/image:v1', '8e45cbd0'],
    ['c', 'registry.example/a<b>&\u2028', '6276eab0'],
    ['é', 'x', '6b7359f0'],
  ])('of %s with the image %s is that of a stock kubelet', (name, image, hash) => {
    expect(containerHash({ name, image })).toBe(hash);
  });
});
