import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pause, within } from '../../../src/base/deadline.js';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const never = () => new Promise<string>(() => {});

test('work that answers in time is the answer, and no timer stays', async () => {
  const late = vi.fn(() => 'late');
  expect(await within(Promise.resolve('work'), 1000, late)).toBe('work');
  expect(vi.getTimerCount()).toBe(0);
  expect(late).not.toHaveBeenCalled();
});

test('work that fails in time is the failure, and no timer stays', async () => {
  await expect(within(Promise.reject(new Error('refused')), 1000, () => 'late')).rejects.toThrow('refused');
  expect(vi.getTimerCount()).toBe(0);
});

test('at the deadline the other answer counts', async () => {
  const answer = within(never(), 1000, () => 'late');
  await vi.advanceTimersByTimeAsync(999);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await answer).toBe('late');
});

test('at the deadline the other answer may be a refusal', async () => {
  const answer = within(never(), -5, () => {
    throw new Error('no answer');
  });
  const refused = expect(answer).rejects.toThrow('no answer');
  await vi.advanceTimersByTimeAsync(0);
  await refused;
});

test('work that fails after the deadline is nobody’s unhandled rejection', async () => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  let fail: (error: Error) => void = () => {};
  const work = new Promise<void>((_, reject) => {
    fail = reject;
  });
  const answer = within(work, 10, () => 'late');
  await vi.advanceTimersByTimeAsync(10);
  expect(await answer).toBe('late');
  fail(new Error('too late'));
  vi.useRealTimers();
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

test('a pause ends at its signal and leaves no timer; one longer than timers can be is not over at once', async () => {
  const ending = new AbortController();
  let isOver = false;
  const paused = pause(2 ** 40, ending.signal).then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect(isOver).toBe(false);
  ending.abort();
  await paused;
  expect(vi.getTimerCount()).toBe(0);
  await pause(1000, ending.signal);
  expect(vi.getTimerCount()).toBe(0);
});

test('a deadline longer than timers can be is not reached at once', async () => {
  let isOver = false;
  const answer = within(never(), 2 ** 40, () => 'late').then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(isOver).toBe(false);
  await vi.runAllTimersAsync();
  await answer;
});
