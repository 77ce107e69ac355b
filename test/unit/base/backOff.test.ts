import { expect, test } from 'vitest';
import { BackOff, backOffMs, KeyedBackOff } from '../../../src/base/backOff.js';

const SECOND = 1000;

test('waits ten seconds, then twice as long each time, up to five minutes', () => {
  const backOff = new KeyedBackOff({ firstMs: 10 * SECOND, longestMs: 300 * SECOND });
  let now = 0;
  const waits = Array.from({ length: 8 }, () => {
    const waitMs = backOff.remainingMs('a', now, now);
    now += waitMs;
    backOff.failed('a', now, now);
    return waitMs / SECOND;
  });
  expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
});

test('counts from the failure, not from the asking', () => {
  const backOff = new KeyedBackOff({ firstMs: 10 * SECOND, longestMs: 300 * SECOND });
  backOff.failed('a', 0, 0);
  expect(backOff.remainingMs('a', 4 * SECOND, 0)).toBe(6 * SECOND);
});

test('starts over after ten minutes of health', () => {
  const backOff = new KeyedBackOff({ firstMs: 10 * SECOND, longestMs: 300 * SECOND });
  for (let time = 0; time < 5; time++) backOff.failed('a', 0, 0);
  const later = 601 * SECOND;
  expect(backOff.remainingMs('a', later, later)).toBe(0);
  backOff.failed('a', later, later);
  expect(backOff.delayMs('a')).toBe(10 * SECOND);
});

test('starts over when it is reset', () => {
  const backOff = new KeyedBackOff({ firstMs: 10 * SECOND, longestMs: 300 * SECOND });
  backOff.failed('a', 0, 0);
  backOff.failed('a', 0, 0);
  backOff.reset('a');
  expect(backOff.remainingMs('a', 0, 0)).toBe(0);
  backOff.failed('a', 0, 0);
  expect(backOff.delayMs('a')).toBe(10 * SECOND);
});

test('forgets what belongs to a pod', () => {
  const backOff = new KeyedBackOff({ firstMs: 10 * SECOND, longestMs: 300 * SECOND });
  backOff.failed('u1_web', 0, 0);
  backOff.failed('u2_web', 0, 0);
  backOff.forget('u1_');
  expect([backOff.delayMs('u1_web'), backOff.delayMs('u2_web')]).toEqual([0, 10 * SECOND]);
});

test('without a time of its own a failure counts from when it was told', () => {
  const backOff = new KeyedBackOff({ firstMs: 10 * SECOND, longestMs: 300 * SECOND });
  backOff.failed('a', 100 * SECOND);
  expect(backOff.remainingMs('a', 103 * SECOND)).toBe(7 * SECOND);
});

test('remembers a key for three times the limit, and no longer', () => {
  const backOff = new KeyedBackOff({ firstMs: 10 * SECOND, longestMs: 300 * SECOND });
  backOff.failed('a', 0);
  backOff.failed('b', 900 * SECOND);
  expect(backOff.size).toBe(2);
  backOff.failed('c', 901 * SECOND);
  expect([backOff.size, backOff.delayMs('a')]).toEqual([2, 0]);
});

test('who fails within twice the limit waits longer also when the next try comes after it', () => {
  const backOff = new KeyedBackOff({ firstMs: 10 * SECOND, longestMs: 300 * SECOND });
  backOff.failed('a', 0);
  backOff.failed('a', 890 * SECOND, 600 * SECOND);
  expect(backOff.delayMs('a')).toBe(20 * SECOND);
});

test.each([
  [0, 5],
  [1, 10],
  [3, 40],
  [4, 60],
  [5000, 60],
])('after %i failures before it the wait is %i ms', (failures, waitMs) => {
  expect(backOffMs(failures, { firstMs: 5, longestMs: 60 })).toBe(waitMs);
});

test('one thing waits longer each time until it is reset, spread where it is asked for', () => {
  const plain = new BackOff({ firstMs: 100, longestMs: 300 });
  const next = () => [plain.next(), plain.next(), plain.next()];
  expect(next()).toEqual([100, 200, 300]);
  plain.reset();
  expect(next()).toEqual([100, 200, 300]);
  const spread = new BackOff({ firstMs: 100, longestMs: 300, random: () => 0.5 });
  expect([spread.next(), spread.next()]).toEqual([75, 150]);
});
