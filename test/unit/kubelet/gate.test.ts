import { expect, test } from 'vitest';
import { makeGate } from '../../../src/kubelet/gate.js';

test('at most so many run at once, in order, and a failure makes room', async () => {
  const gate = makeGate(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  let running = 0;
  let most = 0;
  const work = (i: number) =>
    gate(async () => {
      begun.push(i);
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running--;
      if (i === 0) throw new Error('no');
      return i;
    });
  const all = Promise.allSettled([0, 1, 2, 3].map(work));
  for (let i = 0; i < 4; i++) {
    while (ends.length === 0) await Promise.resolve();
    ends.shift()?.();
    for (let turns = 0; turns < 20; turns++) await Promise.resolve();
  }
  expect((await all).map(({ status }) => status)).toEqual([
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
  expect(begun).toEqual([0, 1, 2, 3]);
  expect(most).toBe(2);
});
