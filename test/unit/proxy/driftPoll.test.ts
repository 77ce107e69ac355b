// Looking often where the kernel tells no events.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { pollDrift } from '../../../src/proxy/driftPoll.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start() {
  const kernel = { stamp: 'a', isIntact: true, syncs: 1 as number | undefined };
  const onDrift = vi.fn();
  const check = vi.fn(async () => kernel.isIntact);
  const stamp = vi.fn(async () => kernel.stamp);
  const mode = { name: 'm', check, stamp } as never;
  const glances = pollDrift({ mode, periodMs: 1000, syncs: () => kernel.syncs, onDrift });
  return { kernel, onDrift, check, stamp, glances };
}

describe('glances at what a mode has made', () => {
  test('find what somebody has changed, within a period', async () => {
    const { kernel, onDrift, check } = start();
    await vi.advanceTimersByTimeAsync(3500);
    expect(check).not.toHaveBeenCalled();
    Object.assign(kernel, { stamp: 'b', isIntact: false });
    await vi.advanceTimersByTimeAsync(1000);
    expect(onDrift).toHaveBeenCalledTimes(1);
  });

  test('leave it where the rules that changed were those of others', async () => {
    const { kernel, onDrift, check } = start();
    await vi.advanceTimersByTimeAsync(1500);
    kernel.stamp = 'b';
    await vi.advanceTimersByTimeAsync(5000);
    expect(check).toHaveBeenCalledTimes(1);
    expect(onDrift).not.toHaveBeenCalled();
  });

  test('do not take our own syncs for changes of others, and do not look while one runs', async () => {
    const { kernel, onDrift, check, stamp } = start();
    await vi.advanceTimersByTimeAsync(1500);
    Object.assign(kernel, { stamp: 'b', syncs: 2, isIntact: false });
    await vi.advanceTimersByTimeAsync(3000);
    expect(check).not.toHaveBeenCalled();
    kernel.syncs = undefined;
    const looked = stamp.mock.calls.length;
    await vi.advanceTimersByTimeAsync(3000);
    expect(stamp).toHaveBeenCalledTimes(looked);
    expect(onDrift).not.toHaveBeenCalled();
  });

  test('go on after a look that failed, and end when stopped', async () => {
    const { kernel, onDrift, stamp, glances } = start();
    await vi.advanceTimersByTimeAsync(1500);
    stamp.mockRejectedValueOnce(new Error('not now'));
    await vi.advanceTimersByTimeAsync(1000);
    Object.assign(kernel, { stamp: 'b', isIntact: false });
    await vi.advanceTimersByTimeAsync(1000);
    expect(onDrift).toHaveBeenCalledTimes(1);
    glances.stop();
    const looked = stamp.mock.calls.length;
    await vi.advanceTimersByTimeAsync(5000);
    expect(stamp).toHaveBeenCalledTimes(looked);
  });
});
