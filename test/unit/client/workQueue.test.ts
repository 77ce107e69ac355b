// The work queue and its workers, on a clock that only the test moves.
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { runWorkers } from '../../../src/client/worker.js';
import { KeyQueue } from '../../../src/client/workQueue.js';

function manualClock() {
  let time = 0;
  const timers = new Set<{ at: number; callback: () => void }>();
  return {
    now: () => time,
    setTimer(callback: () => void, delayMs: number) {
      const timer = { at: time + delayMs, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms: number) {
      time += ms;
      for (const timer of [...timers].filter(({ at }) => at <= time)) {
        timers.delete(timer);
        timer.callback();
      }
    },
    pending: () => timers.size,
  };
}

describe('the work queue', () => {
  test('holds a key once, however often it is added', async () => {
    const queue = new KeyQueue();
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
    expect(queue.length).toBe(2);
    expect([await queue.take(), await queue.take()]).toEqual(['a', 'b']);
  });

  test('hands a key that is being worked on to nobody else, and again once it is done', async () => {
    const queue = new KeyQueue();
    queue.add('a');
    expect(await queue.take()).toBe('a');
    queue.add('a');
    expect(queue.length).toBe(0);
    queue.done('a');
    expect(await queue.take()).toBe('a');
  });

  test('back-off doubles from 5 ms to 1000 s and ends when the key is forgotten', () => {
    const clock = manualClock();
    const queue = new KeyQueue(clock);
    const delays: number[] = [];
    for (let i = 0; i < 20; i++) {
      const before = clock.now();
      queue.addRateLimited('a');
      while (clock.pending() > 0) clock.advance(5);
      delays.push(clock.now() - before);
    }
    expect(delays.slice(0, 4)).toEqual([5, 10, 20, 40]);
    expect(delays.at(-1)).toBe(1_000_000);
    expect(queue.requeues('a')).toBe(20);
    queue.forget('a');
    expect(queue.requeues('a')).toBe(0);
  });

  test('of two delays for one key the shorter one counts', () => {
    const clock = manualClock();
    const queue = new KeyQueue(clock);
    queue.addAfter('a', 100);
    queue.addAfter('a', 10);
    queue.addAfter('a', 50);
    clock.advance(10);
    expect(queue.length).toBe(1);
    expect(clock.pending()).toBe(0);
  });

  test('after shutDown what is queued is still handed out, then undefined; timers are gone', async () => {
    const clock = manualClock();
    const queue = new KeyQueue(clock);
    queue.add('a');
    queue.addAfter('b', 10);
    queue.shutDown();
    queue.add('c');
    expect(await queue.take()).toBe('a');
    queue.done('a');
    expect(await queue.take()).toBeUndefined();
    expect(clock.pending()).toBe(0);
  });
});

describe('workers', () => {
  test('try a failed key again, forget it on success, and end with the signal', async () => {
    const queue = new KeyQueue();
    const stop = new AbortController();
    const tries: string[] = [];
    const sync = async (key: string) => {
      tries.push(key);
      if (tries.length < 3) throw new Error('not yet');
      stop.abort();
    };
    queue.add('a');
    await runWorkers({ queue, concurrency: 2, sync, log: silentLog, signal: stop.signal });
    expect(tries).toEqual(['a', 'a', 'a']);
    expect(queue.requeues('a')).toBe(0);
  });

  test('never run the same key at once', async () => {
    const queue = new KeyQueue();
    const active = new Set<string>();
    let runs = 0;
    const sync = async (key: string) => {
      expect(active.has(key)).toBe(false);
      active.add(key);
      if (runs++ < 20) queue.add(key);
      await new Promise((resolve) => setImmediate(resolve));
      active.delete(key);
      if (runs > 30) queue.shutDown();
      else queue.add(key === 'a' ? 'b' : 'a');
    };
    queue.add('a');
    queue.add('b');
    await runWorkers({ queue, concurrency: 4, sync, log: silentLog });
    expect(runs).toBeGreaterThan(30);
  });
});
