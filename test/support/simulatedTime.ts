// A clock that a test moves on, and the pauses that wait for it. Dates follow it until `vi.useRealTimers`.
// Guarantees: pauses end in the order of their times, and what follows from one is done before the next ends.
import { vi } from 'vitest';
import type { pause } from '../../src/base/deadline.js';

const TURNS = 10;

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

export class SimulatedTime {
  #ms = 0;
  readonly #sleepers = new Set<Sleeper>();

  readonly now = (): number => this.#ms;

  readonly pause: typeof pause = (delayMs, signal) => {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { at: this.#ms + Math.max(0, delayMs), wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  };

  async passTo(ms: number): Promise<void> {
    await settled();
    for (let next = this.#next(ms); next !== undefined; next = this.#next(ms)) {
      this.#set(Math.max(this.#ms, next.at));
      next.wake();
      await settled();
    }
    this.#set(ms);
    await settled();
  }

  /** As when the process slept: the clock moves on, and no pause ends before something else has happened. */
  jump(ms: number): void {
    this.#set(this.#ms + ms);
  }

  #set(ms: number): void {
    this.#ms = ms;
    vi.setSystemTime(ms);
  }

  #next(until: number): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers)
      if (sleeper.at <= until && sleeper.at < (first?.at ?? Number.POSITIVE_INFINITY)) first = sleeper;
    return first;
  }
}

/** Everything that is under way without a pause has gone as far as it can: a fake API takes a turn for each answer. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
