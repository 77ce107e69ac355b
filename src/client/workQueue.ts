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

export class KeyQueue implements WorkQueue {
  readonly #now: () => number;
  readonly #setTimer: (callback: () => void, delayMs: number) => () => void;
  // A Set keeps the order of insertion, so it is the queue and its de-duplication in one.
  readonly #waiting = new Set<string>();
  readonly #working = new Set<string>();
  readonly #again = new Set<string>();
  readonly #delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #isOpen = true;

  constructor({ now = Date.now, setTimer = systemTimer }: WorkQueueOptions = {}) {
    this.#now = now;
    this.#setTimer = setTimer;
  }

  add(key: string): void {
    if (!this.#isOpen) return;
    if (this.#working.has(key)) this.#again.add(key);
    else this.#waiting.add(key);
    this.#hand();
  }

  addAfter(key: string, delayMs: number): void {
    if (!this.#isOpen) return;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const at = this.#now() + delayMs;
    const planned = this.#delayed.get(key);
    if (planned !== undefined && planned.at <= at) return;
    planned?.cancel();
    const due = () => {
      this.#delayed.delete(key);
      this.add(key);
    };
    // A key that is added early is merely looked at again.
    this.#delayed.set(key, { at, cancel: this.#setTimer(due, Math.min(delayMs, LONGEST_TIMER_MS)) });
  }

  addRateLimited(key: string): void {
    const count = this.requeues(key);
    this.#failures.set(key, count + 1);
    this.addAfter(key, backOffMs(count, RATE_LIMIT));
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  requeues(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  get length(): number {
    return this.#waiting.size;
  }

  take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#hand();
    });
  }

  done(key: string): void {
    this.#working.delete(key);
    if (this.#again.delete(key)) this.#waiting.add(key);
    this.#hand();
  }

  shutDown(): void {
    this.#isOpen = false;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#hand();
  }

  #hand(): void {
    for (const key of this.#waiting) {
      const taker = this.#takers.shift();
      if (taker === undefined) break;
      this.#waiting.delete(key);
      this.#working.add(key);
      taker(key);
    }
    if (!this.#isOpen && this.#waiting.size === 0 && this.#again.size === 0)
      for (const taker of this.#takers.splice(0)) taker(undefined);
  }
}

function systemTimer(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
}
