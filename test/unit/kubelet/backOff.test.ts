import { expect, test } from 'vitest';
import { BackOff } from '../../../src/kubelet/backOff.js';

const SECOND = 1000;

test('waits ten seconds, then twice as long each time, up to five minutes', () => {
  const backOff = new BackOff(10 * SECOND, 300 * SECOND);
  let now = 0;
  const waits = Array.from({ length: 8 }, () => {
    const waitMs = backOff.remainingMs('a', now, now);
    now += waitMs;
    backOff.next('a', now, now);
    return waitMs / SECOND;
  });
  expect(waits).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
});

test('counts from the failure, not from the asking', () => {
  const backOff = new BackOff(10 * SECOND, 300 * SECOND);
  backOff.next('a', 0, 0);
  expect(backOff.remainingMs('a', 0, 4 * SECOND)).toBe(6 * SECOND);
});

test('starts over after ten minutes of health', () => {
  const backOff = new BackOff(10 * SECOND, 300 * SECOND);
  for (let time = 0; time < 5; time++) backOff.next('a', 0, 0);
  const later = 601 * SECOND;
  expect(backOff.remainingMs('a', later, later)).toBe(0);
  backOff.next('a', later, later);
  expect(backOff.delayMs('a')).toBe(10 * SECOND);
});

test('starts over when it is reset', () => {
  const backOff = new BackOff(10 * SECOND, 300 * SECOND);
  backOff.next('a', 0, 0);
  backOff.next('a', 0, 0);
  backOff.reset('a');
  expect(backOff.remainingMs('a', 0, 0)).toBe(0);
  backOff.next('a', 0, 0);
  expect(backOff.delayMs('a')).toBe(10 * SECOND);
});

test('forgets what belongs to a pod', () => {
  const backOff = new BackOff(10 * SECOND, 300 * SECOND);
  backOff.next('u1_web', 0, 0);
  backOff.next('u2_web', 0, 0);
  backOff.forget('u1_');
  expect([backOff.delayMs('u1_web'), backOff.delayMs('u2_web')]).toEqual([0, 10 * SECOND]);
});
