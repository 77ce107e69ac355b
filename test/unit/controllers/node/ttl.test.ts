// How long kubelets may keep what they have read, by the size of the cluster.
import { expect, test } from 'vitest';
import { nextStep } from '../../../../src/controllers/node/ttl.js';

test.each([
  [0, 100, 0],
  [0, 101, 1],
  [1, 95, 1],
  [1, 89, 0],
  [0, 5000, 4],
  [4, 10, 0],
])('from step %i with %i nodes to step %i', (step, nodes, wanted) => {
  expect(nextStep(step, nodes)).toBe(wanted);
});
