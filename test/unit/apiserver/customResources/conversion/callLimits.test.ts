import { expect, test } from 'vitest';
import { ConversionCallLimits } from '../../../../../src/apiserver/customResources/conversion/callLimits.js';

/** Calls that end when they are told to. */
function calls() {
  const ends: (() => void)[] = [];
  const call = () => new Promise<void>((resolve) => void ends.push(resolve));
  return { call, ends };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('one user has its share of the calls, others have the rest', async () => {
  const room = new ConversionCallLimits('x', { calls: 3, callsOfUser: 2 });
  const { call, ends } = calls();
  const mine = [1, 2, 3].map(() => room.run('ann', call));
  await settled();
  expect(ends).toHaveLength(2);
  const theirs = room.run('bob', call);
  await settled();
  expect(ends).toHaveLength(3);
  for (const end of ends) end();
  await settled();
  expect(ends).toHaveLength(4);
  ends[3]?.();
  await Promise.all([...mine, theirs]);
});

test('while calls are slow few may wait, and whoever waits too long has to come again', async () => {
  let now = 0;
  const limits = { calls: 1, callsOfUser: 1, waiting: 5, waitingWhenSlow: 1, slowMs: 10, patienceMs: 20 };
  const room = new ConversionCallLimits('backups.example.com', limits, () => now);
  const { call, ends } = calls();
  const running = room.run('ann', call);
  const first = room.run('ann', call);
  now = 10;
  await expect(room.run('bob', call)).rejects.toMatchObject({
    code: 429,
    message:
      'too many requests wait for the conversion webhook of backups.example.com, please try again later',
  });
  await expect(first).rejects.toMatchObject({ code: 429 });
  ends[0]?.();
  await running;
  expect(ends).toHaveLength(1);
});
