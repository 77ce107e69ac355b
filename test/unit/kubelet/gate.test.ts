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

test('who gives up while waiting leaves the queue', async () => {
  const gate = makeGate(1);
  let end = () => {};
  const first = gate(() => new Promise<void>((resolve) => (end = resolve)));
  const giving = new AbortController();
  const given = gate(async () => 'never', giving.signal);
  const third = gate(async () => 'third');
  giving.abort(new Error('the pod is ending'));
  await expect(given).rejects.toThrow('the pod is ending');
  end();
  await first;
  expect(await third).toBe('third');
  await expect(gate(async () => 'late', giving.signal)).resolves.toBe('late'); // there was no queue to wait in
});

test('a piece that hangs does not hold others up', async () => {
  const gate = makeGate(1, { countsForMs: 1 });
  let end = () => {};
  const hung = gate(() => new Promise<void>((resolve) => (end = resolve)));
  expect(await gate(async () => 'next')).toBe('next');
  end();
  await hung;
  // It made room once: still one at a time.
  let running = 0;
  const strict = makeGate(1, { countsForMs: 60_000 });
  await Promise.all(
    [1, 2].map(() =>
      strict(async () => {
        expect(++running).toBe(1);
        await Promise.resolve();
        running--;
      }),
    ),
  );
});
