// When memory is given back, with a process that the test plays; and that it really is, in this one.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { keepIdleMemorySmall } from '../../../src/kernel/idleMemory.js';
import { until } from '../../support/until.js';

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] }),
);
afterEach(() => void vi.useRealTimers());

function played() {
  const state = { resident: 100, busy: 0, released: 0, afterRelease: 100, trimmed: 0, nowMs: 0, tookMs: 1 };
  const stop = keepIdleMemorySmall({
    everyMs: 1000,
    growthBytes: 50,
    busyShare: 0.2,
    quietShare: 0.05,
    quietMs: 3000,
    workMs: 500,
    nowMs: () => state.nowMs,
    resident: () => state.resident,
    busy: () => state.busy,
    collect: () => {
      state.released += 1;
      state.nowMs += state.tookMs;
      state.resident = state.afterRelease;
    },
    trim: () => {
      state.trimmed += 1;
    },
  });
  return { state, stop };
}

describe('idle memory', () => {
  test('is given back once the process has grown and is idle', () => {
    const { state, stop } = played();
    state.resident = 149;
    vi.advanceTimersByTime(5000);
    expect(state.released).toBe(0);
    state.resident = 150;
    vi.advanceTimersByTime(1000);
    expect(state).toMatchObject({ released: 1, resident: 100 });
    stop();
    state.resident = 500;
    vi.advanceTimersByTime(5000);
    expect(state.released).toBe(1);
  });
  test('goes back to the kernel a second after the collection, when V8 has freed what it found', () => {
    const { state, stop } = played();
    state.resident = 150;
    vi.advanceTimersByTime(1000);
    expect(state).toMatchObject({ released: 1, trimmed: 0 });
    vi.advanceTimersByTime(1000);
    expect(state).toMatchObject({ released: 1, trimmed: 1 });
    state.resident = 200;
    vi.advanceTimersByTime(1000);
    stop();
    vi.advanceTimersByTime(5000);
    expect(state).toMatchObject({ released: 2, trimmed: 1 });
  });
  test('is left alone while the process is busy', () => {
    const { state, stop } = played();
    state.resident = 500;
    state.busy = 0.5;
    vi.advanceTimersByTime(10_000);
    expect(state.released).toBe(0);
    state.busy = 0.1;
    vi.advanceTimersByTime(1000);
    expect(state.released).toBe(1);
    stop();
  });
  test('that is in use is collected once, not again and again', () => {
    const { state, stop } = played();
    state.resident = state.afterRelease = 500;
    vi.advanceTimersByTime(60_000);
    expect(state.released).toBe(1);
    stop();
  });
  test('of a burst is given back after it, once, though it had been collected during the burst', () => {
    const { state, stop } = played();
    state.resident = state.afterRelease = 500;
    state.busy = 0.1;
    vi.advanceTimersByTime(10_000);
    expect(state.released).toBe(1);
    Object.assign(state, { busy: 0.01, afterRelease: 100 });
    vi.advanceTimersByTime(2000);
    expect(state.released).toBe(1);
    vi.advanceTimersByTime(1000);
    expect(state).toMatchObject({ released: 2, resident: 100 });
    vi.advanceTimersByTime(40_000);
    expect(state.released).toBe(2);
    // Little work adds up as well.
    vi.advanceTimersByTime(20_000);
    expect(state.released).toBe(3);
    stop();
  });
  test('whose collection takes long is collected the less often', () => {
    const { state, stop } = played();
    Object.assign(state, { busy: 0.05, tookMs: 20 });
    vi.advanceTimersByTime(10_000);
    expect(state.released).toBe(1);
    vi.advanceTimersByTime(39_000);
    expect(state.released).toBe(1);
    vi.advanceTimersByTime(2000);
    expect(state.released).toBe(2);
    stop();
  });
  test('of buffers that nobody holds is collected', async () => {
    const held = { buffers: Array.from({ length: 100 }, () => Buffer.alloc(1_000_000, 1)) };
    const full = process.memoryUsage().arrayBuffers;
    held.buffers = [];
    const stop = keepIdleMemorySmall({ growthBytes: -1, busyShare: 2 });
    vi.advanceTimersByTime(15_000);
    stop();
    vi.useRealTimers();
    // V8 frees them beside the program, a little later. What others in this process hold and lose meanwhile is far less.
    await until(() => expect(full - process.memoryUsage().arrayBuffers).toBeGreaterThan(80_000_000));
  });
});
