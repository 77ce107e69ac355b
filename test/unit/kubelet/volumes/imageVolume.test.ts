// Which runtimes mount images.
import { expect, test } from 'vitest';
import { imageVolumeProblem } from '../../../../src/kubelet/volumes/imageVolume.js';

test.each([
  ['containerd', '1.6.20~ds1'],
  ['containerd', 'v1.7.27'],
  ['containerd', '2.0.5'],
  ['cri-o', '1.30.3'],
])('%s %s does not', (runtimeName, runtimeVersion) => {
  expect(imageVolumeProblem({ runtimeName, runtimeVersion })).toMatch(
    `${runtimeName} ${runtimeVersion} does not support image volumes`,
  );
});

test.each([
  ['containerd', 'v2.1.0'],
  ['containerd', '2.10.1'],
  ['containerd', '3.0.0'],
  ['cri-o', '1.31.0'],
  ['another', '0.1'],
  ['containerd', 'unknown'],
])('%s %s may', (runtimeName, runtimeVersion) => {
  expect(imageVolumeProblem({ runtimeName, runtimeVersion })).toBeUndefined();
});

test.each([
  ['containerd', '2.1.9+unknown', 'does not support a subPath of image volumes; 2.2 or newer does'],
  ['containerd', '2.2.0', undefined],
  ['cri-o', '1.32.1', 'does not support a subPath of image volumes; 1.33 or newer does'],
  ['cri-o', '1.33.0', undefined],
])('of a part of an image, %s %s says %s', (runtimeName, runtimeVersion, problem) => {
  const said = imageVolumeProblem({ runtimeName, runtimeVersion }, 'part');
  expect(said).toBe(problem && `${runtimeName} ${runtimeVersion} ${problem}`);
});
