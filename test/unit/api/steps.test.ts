// Work in steps: the same result with and without pauses, and a pause for each step.
import { expect, test } from 'vitest';
import { atOnce, inSteps, type Steps } from '../../../src/api/steps.js';

function* sum(numbers: readonly number[]): Steps<number> {
  let total = 0;
  for (const number of numbers) {
    total += number;
    yield;
  }
  return total;
}

test('work gives the same at once and in steps, with a pause after each', async () => {
  let pauses = 0;
  const pause = () => {
    pauses += 1;
    return pauses % 2 === 0 ? Promise.resolve() : undefined;
  };
  expect(atOnce(sum([1, 2, 3]))).toBe(6);
  await expect(inSteps(sum([1, 2, 3]), pause)).resolves.toBe(6);
  expect(pauses).toBe(3);
});

test('what the work throws is thrown', async () => {
  function* failing(): Steps<never> {
    yield;
    throw new Error('no');
  }
  expect(() => atOnce(failing())).toThrow('no');
  await expect(inSteps(failing(), () => undefined)).rejects.toThrow('no');
});
