// The queue under a clock that the test turns: order, back-off, who is woken by what.
import { beforeEach, describe, expect, test } from 'vitest';
import type { EventKind } from '../../../src/scheduler/events.js';
import { Heap } from '../../../src/scheduler/heap.js';
import { SchedulingQueue } from '../../../src/scheduler/queue.js';

const WOKEN_BY: Readonly<Record<string, readonly EventKind[]>> = {
  Fit: ['node added', 'pod removed'],
  Taint: ['node added', 'node taints'],
};
let now = 0;
let queue: SchedulingQueue;
beforeEach(() => {
  now = 0;
  queue = new SchedulingQueue({
    now: () => now,
    wokenBy: (_, plugins) => [...plugins].flatMap((plugin) => WOKEN_BY[plugin] ?? []),
    helps: (_, key) => !key.startsWith('hopeless'),
  });
});
const add = (key: string, priority = 0) => queue.add({ key, priority });
const drain = () => {
  const keys: string[] = [];
  for (let key = queue.take(); key !== undefined; key = queue.take()) keys.push(key);
  return keys;
};

describe('order', () => {
  test('is by priority, then by arrival', () => {
    add('a');
    add('b', 5);
    add('c');
    add('d', 5);
    expect(drain()).toEqual(['b', 'd', 'a', 'c']);
  });
  test('leaves out what was removed, and has nothing twice', () => {
    add('a');
    add('b');
    add('a');
    queue.remove('b');
    expect(drain()).toEqual(['a']);
  });
  test('of a heap is that of a sort', () => {
    const heap = new Heap<number>((a, b) => a < b);
    const numbers = Array.from({ length: 500 }, (_, at) => (at * 7919) % 101);
    for (const number of numbers) heap.push(number);
    expect(Array.from({ length: 500 }, () => heap.pop())).toEqual([...numbers].sort((a, b) => a - b));
    expect(heap.pop()).toBeUndefined();
  });
});

describe('back-off', () => {
  test('doubles from one second to ten', () => {
    add('a');
    const delays: number[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      expect(queue.take()).toBe('a');
      queue.backOff('a');
      const due = queue.nextDueMs() ?? 0;
      delays.push(due);
      now += due - 1;
      expect(queue.take()).toBeUndefined();
      now += 1;
    }
    expect(delays).toEqual([1000, 2000, 4000, 8000, 10000, 10000]);
  });
  test('is forgotten by a pod that changed', () => {
    add('a');
    queue.take();
    queue.backOff('a');
    add('a');
    expect(drain()).toEqual(['a']);
  });
});

describe('an unschedulable pod', () => {
  const refuse = (key: string, ...plugins: string[]) => {
    add(key);
    queue.take();
    queue.unschedulable(key, new Set(plugins));
  };
  test('hears what happened while others were asked about it, as far as it can help', () => {
    for (const [key, happens, isBack] of [
      ['helped', 'pod removed', true],
      ['other', 'node labels', false],
      ['hopeless', 'pod removed', false],
    ] as const) {
      add(key);
      expect(queue.take()).toBe(key);
      queue.listen(key);
      queue.wake({ kind: happens });
      queue.unschedulable(key, new Set(['Fit']));
      expect([key, drain()]).toEqual([key, isBack ? [key] : []]);
      queue.remove(key);
    }
  });
  test('is tried again when it changed itself while others were asked about it', () => {
    add('changed');
    queue.take();
    queue.listen('changed');
    add('changed');
    queue.unschedulable('changed', new Set(['Fit']));
    expect(drain()).toEqual(['changed']);
  });
  test('is woken only by what can help it', () => {
    refuse('fit', 'Fit');
    refuse('taint', 'Taint');
    refuse('both', 'Fit', 'Taint');
    now = 60_000;
    queue.wake({ kind: 'node labels' });
    expect(drain()).toEqual([]);
    queue.wake({ kind: 'node taints' });
    expect(drain()).toEqual(['taint', 'both']);
    queue.wake({ kind: 'pod removed' });
    expect(drain()).toEqual(['fit']);
  });
  test('is woken by any new node', () => {
    refuse('a');
    now = 60_000;
    queue.wake({ kind: 'node added' });
    expect(drain()).toEqual(['a']);
  });
  test('woken early waits behind all others, but not for nothing', () => {
    refuse('a', 'Fit');
    now = 400;
    queue.wake({ kind: 'pod removed' });
    add('b', -5);
    expect(drain()).toEqual(['b', 'a']);
  });
  test('is not woken by an event that cannot help it, though others are', () => {
    refuse('hopeless', 'Fit');
    refuse('a', 'Fit');
    now = 60_000;
    queue.wake({ kind: 'pod removed' });
    expect(drain()).toEqual(['a']);
  });
  test('is tried again after five minutes in any case', () => {
    refuse('a', 'Fit');
    expect(queue.nextDueMs()).toBe(300_000);
    now = 300_000;
    expect(drain()).toEqual(['a']);
  });
  test('that was deleted does not come back', () => {
    refuse('a', 'Fit');
    queue.remove('a');
    now = 300_000;
    queue.wake({ kind: 'pod removed' });
    expect(drain()).toEqual([]);
    expect(queue.nextDueMs()).toBeUndefined();
  });
});

test('a pod that is being worked on is not handed out again by a change', () => {
  add('a');
  queue.take();
  add('a');
  expect(drain()).toEqual([]);
  queue.backOff('a');
  now = 1000;
  expect(drain()).toEqual(['a']);
});
