import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { makeSyncRunner } from '../../../src/base/syncRunner.js';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const runnerOf = (sync: () => Promise<void>, minPeriodMs = 0) => {
  const told: number[] = [];
  const failed = (_: unknown, delayMs: number) => told.push(delayMs);
  return { told, ...makeSyncRunner({ minPeriodMs, retry: { firstMs: 100, longestMs: 300 }, sync, failed }) };
};

test('requests that come together are one sync, and one made during a sync leads to another', async () => {
  let end: () => void = () => {};
  const sync = vi.fn(() => new Promise<void>((resolve) => (end = resolve)));
  const runner = runnerOf(sync);
  runner.request();
  runner.request();
  await vi.advanceTimersByTimeAsync(0);
  expect(sync).toHaveBeenCalledTimes(1);
  runner.request();
  await vi.advanceTimersByTimeAsync(1000);
  expect(sync).toHaveBeenCalledTimes(1);
  end();
  await vi.advanceTimersByTimeAsync(0);
  expect(sync).toHaveBeenCalledTimes(2);
  end();
  await vi.advanceTimersByTimeAsync(1000);
  expect(sync).toHaveBeenCalledTimes(2);
});

test('a failure is tried again, ever later, and the waits start over after a success', async () => {
  let fails = 4;
  const sync = vi.fn(async () => {
    if (fails-- > 0) throw new Error('refused');
  });
  const runner = runnerOf(sync);
  runner.request();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runner.told).toEqual([100, 200, 300, 300]);
  expect(sync).toHaveBeenCalledTimes(5);
  fails = 1;
  runner.request();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runner.told).toEqual([100, 200, 300, 300, 100]);
});

test('the least time between two syncs is kept, and after stop nothing is begun', async () => {
  const sync = vi.fn(async () => {});
  const runner = runnerOf(sync, 1000);
  runner.request();
  await vi.advanceTimersByTimeAsync(0);
  runner.request();
  await vi.advanceTimersByTimeAsync(999);
  expect(sync).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(sync).toHaveBeenCalledTimes(2);
  runner.request();
  await runner.stop();
  await vi.advanceTimersByTimeAsync(5000);
  expect(sync).toHaveBeenCalledTimes(2);
  expect(vi.getTimerCount()).toBe(0);
});

test('a period longer than timers can be is waited for all the same', async () => {
  let end: () => void = () => {};
  const sync = vi.fn(() => new Promise<void>((resolve) => (end = resolve)));
  const runner = runnerOf(sync, 2 ** 40);
  runner.request();
  await vi.advanceTimersByTimeAsync(0);
  runner.request();
  end();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(sync).toHaveBeenCalledTimes(1);
  runner.stop();
});
