import { expect, test } from 'vitest';
import { aborted } from '../../../src/base/aborted.js';

test('resolves at once for a signal that is aborted already', async () => {
  await expect(aborted(AbortSignal.abort())).resolves.toBeUndefined();
});

test('resolves with the abort, and not before', async () => {
  const controller = new AbortController();
  let isOver = false;
  const over = aborted(controller.signal).then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  controller.abort(new Error('enough'));
  await over;
  expect(isOver).toBe(true);
});
