// Reads the objects of one page at its client's pace.
// Guarantees: the objects of the page's revision, each once and in order; a client that stalls keeps none of them in
// memory: what is left is read again, from the caches or the store, when it goes on.
import type { CachedObject } from './cached.js';

/** The objects behind a key, some of them; none at the end. */
export type ReadOn = (after: string) => Promise<readonly CachedObject[]>;

/** A client that takes nothing for so long stalls. Most take a piece in less than a millisecond. */
const STALL_MS = 1000;

export class PageReader {
  readonly #readOn: ReadOn | undefined;

  #held: readonly CachedObject[];
  #at = 0;
  /** The last object that was wholly taken. */
  #after = '';
  #isLast: boolean;
  #stalling: NodeJS.Timeout | undefined;

  /** `held` are all of them, or undefined to read them; without `readOn` they are kept until they are taken. */
  constructor(held: readonly CachedObject[] | undefined, readOn?: ReadOn) {
    this.#readOn = readOn;

    this.#held = held ?? [];
    this.#isLast = held !== undefined;
  }

  /** The object that is not yet taken. Undefined at the end, and when `load` has to bring more. */
  get current(): CachedObject | undefined {
    return this.#held[this.#at];
  }

  /** True when all have been taken. */
  get ended(): boolean {
    return this.#isLast && this.#at >= this.#held.length;
  }

  /** Those that wait in memory for the client. */
  get held(): readonly CachedObject[] {
    return this.#held.slice(this.#at);
  }

  /** True when nothing has to be loaded any more. */
  get isWhole(): boolean {
    return this.#isLast;
  }

  take(): void {
    this.#after = this.current?.key ?? this.#after;
    this.#at += 1;
  }

  async load(): Promise<void> {
    if (this.#at < this.#held.length || this.#isLast) return;
    this.#held = (await this.#readOn?.(this.#after)) ?? [];
    this.#at = 0;
    this.#isLast = this.#held.length === 0;
  }

  /** While the client is waited for; `resume` follows. */
  pause(): void {
    this.#stalling = setTimeout(() => this.park(), STALL_MS).unref();
  }

  resume(): void {
    clearTimeout(this.#stalling);
  }

  /** Lets go of everything that was not taken. */
  park(): void {
    if (this.ended || this.#readOn === undefined) return;
    this.#held = [];
    this.#at = 0;
    this.#isLast = false;
  }
}
