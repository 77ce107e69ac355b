import { expect, test } from 'vitest';
import { Tally } from '../../../src/base/tally.js';

test('counts what each holds, and all', () => {
  const tally = new Tally();
  const give = tally.take('a', 3);
  tally.take('a');
  tally.take('b', 2);
  expect([tally.of('a'), tally.of('b'), tally.of('c'), tally.all]).toEqual([4, 2, 0, 6]);
  give();
  expect([tally.of('a'), tally.all]).toEqual([1, 3]);
});

test('giving back twice counts once, and who holds nothing is not remembered', () => {
  const tally = new Tally();
  const give = tally.take('a');
  tally.take('b');
  give();
  give();
  expect([tally.of('a'), tally.all, tally.size]).toEqual([0, 1, 1]);
});
