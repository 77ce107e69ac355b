// Keys to be looked at: each at most once in the queue, never handed out twice at a time.
// Guarantees: a key added while it is being worked on is worked on again; back-off grows per key until forgotten.
import { backOffMs } from '../base/backOff.js';
import { LONGEST_TIMER_MS } from '../base/deadline.js';

export interface WorkQueue {
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
  /** Adds the key after its back-off: 5 ms doubling to 1000 s, as in client-go. */
  addRateLimited(key: string): void;
  /** Ends the back-off of a key that succeeded. */
  forget(key: string): void;
  requeues(key: string): number;
  readonly length: number;
  /** The next key, or undefined once the queue is shut down and empty. Call `done` when finished with it. */
  take(): Promise<string | undefined>;
  done(key: string): void;
  shutDown(): void;
}

interface WorkQueueOptions {
  readonly now?: () => number;
  /** Calls back after the delay; answers the function that prevents it. */
  readonly setTimer?: (callback: () => void, delayMs: number) => () => void;
}

const RATE_LIMIT = { firstMs: 5, longestMs: 1_000_000 };

export function makeWorkQueue({ now = Date.now, setTimer = systemTimer }: WorkQueueOptions = {}): WorkQueue {
  // A Set keeps the order of insertion, so it is the queue and its de-duplication in one.
  const waiting = new Set<string>();
  const working = new Set<string>();
  const again = new Set<string>();
  const delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  const failures = new Map<string, number>();
  const takers: ((key: string | undefined) => void)[] = [];
  let open = true;

  const hand = (): void => {
    for (const key of waiting) {
      const taker = takers.shift();
      if (taker === undefined) break;
      waiting.delete(key);
      working.add(key);
      taker(key);
    }
    if (!open && waiting.size === 0 && again.size === 0)
      for (const taker of takers.splice(0)) taker(undefined);
  };

  const queue: WorkQueue = {
    add(key) {
      if (!open) return;
      if (working.has(key)) again.add(key);
      else waiting.add(key);
      hand();
    },
    addAfter(key, delayMs) {
      if (!open) return;
      if (delayMs <= 0) return queue.add(key);
      const at = now() + delayMs;
      const planned = delayed.get(key);
      if (planned !== undefined && planned.at <= at) return;
      planned?.cancel();
      const due = () => {
        delayed.delete(key);
        queue.add(key);
      };
      // A key that is added early is merely looked at again.
      delayed.set(key, { at, cancel: setTimer(due, Math.min(delayMs, LONGEST_TIMER_MS)) });
    },
    addRateLimited(key) {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      queue.addAfter(key, backOffMs(count, RATE_LIMIT));
    },
    forget(key) {
      failures.delete(key);
    },
    requeues: (key) => failures.get(key) ?? 0,
    get length() {
      return waiting.size;
    },
    take() {
      return new Promise((resolve) => {
        takers.push(resolve);
        hand();
      });
    },
    done(key) {
      working.delete(key);
      if (again.delete(key)) waiting.add(key);
      hand();
    },
    shutDown() {
      open = false;
      for (const { cancel } of delayed.values()) cancel();
      delayed.clear();
      hand();
    },
  };
  return queue;
}

function systemTimer(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
}
