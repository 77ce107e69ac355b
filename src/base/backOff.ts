// How long to wait before the next try: twice as long after each failure, up to a limit. Pure but for what it remembers.
// Guarantees: the first failure waits the first delay; what belongs to a key that has been quiet for long is forgotten.

export interface BackOffBounds {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Past this many doublings every limit is reached, and numbers stay exact. */
const MOST_DOUBLINGS = 40;

/** The wait after the first failure (0 came before it), the second (1 came before it), and so on. */
export const backOffMs = (failuresBefore: number, { firstMs, longestMs }: BackOffBounds): number =>
  Math.min(firstMs * 2 ** Math.min(failuresBefore, MOST_DOUBLINGS), longestMs);

interface BackOffOptions extends BackOffBounds {
  /** Spreads each delay over its upper half, so that many who failed together do not try again together. */
  readonly random?: () => number;
}

/** The waits of one thing that is tried again and again. */
export class BackOff {
  readonly #options: BackOffOptions;

  #failures = 0;

  constructor(options: BackOffOptions) {
    this.#options = options;
  }

  next(): number {
    const delayMs = backOffMs(this.#failures++, this.#options);
    const { random } = this.#options;
    return random === undefined ? delayMs : delayMs * (0.5 + random() / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}

interface Entry {
  readonly delayMs: number;
  /** When the delay was last lengthened. */
  readonly at: number;
}

/** The waits of many things by their keys. Time is an argument. */
export class KeyedBackOff {
  readonly #bounds: BackOffBounds;

  /** Newest last, so that what has been quiet for long is found in front. */
  readonly #entries = new Map<string, Entry>();

  constructor(bounds: BackOffBounds) {
    this.#bounds = bounds;
  }

  /** How long there is still to wait: since the failure, which without a time of its own was when it was told. */
  remainingMs(key: string, now: number, failedAt?: number): number {
    const entry = this.#entries.get(key);
    if (entry === undefined) return 0;
    const since = failedAt ?? entry.at;
    return this.#isStale(entry, since) ? 0 : Math.max(0, since + entry.delayMs - now);
  }

  /** Lengthens the delay for the next failure. */
  failed(key: string, now: number, failedAt = now): void {
    const { firstMs, longestMs } = this.#bounds;
    const before = this.#entries.get(key);
    const again = before !== undefined && !this.#isStale(before, failedAt);
    this.#entries.delete(key);
    this.#entries.set(key, { delayMs: again ? Math.min(before.delayMs * 2, longestMs) : firstMs, at: now });
    for (const [other, { at }] of this.#entries) {
      // Who fails within twice the limit still counts as failing when he has waited the limit out.
      if (now - at <= 3 * longestMs) break;
      this.#entries.delete(other);
    }
  }

  delayMs(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  /** Drops every key with this beginning: those of a pod that is gone. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.#entries.size;
  }

  // As in client-go: what failed again only after twice the limit counts as healthy in between.
  #isStale(entry: Entry, failedAt: number): boolean {
    return failedAt - entry.at > this.#bounds.longestMs * 2;
  }
}
