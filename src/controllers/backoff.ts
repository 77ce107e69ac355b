// How long a key must wait after it failed: doubling, up to a limit, forgotten after a long quiet. Pure but for its memory.
// Guarantees: a first failure waits for nothing; memory is freed for keys that have been quiet for twice the limit.

interface Entry {
  readonly delayMs: number;
  readonly sinceMs: number;
}

export class Backoff {
  readonly #entries = new Map<string, Entry>();
  readonly #firstMs: number;
  readonly #longestMs: number;

  constructor({ firstMs, longestMs }: { firstMs: number; longestMs: number }) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  /** Milliseconds that are left of the key's wait. */
  waitMs(key: string, now: number): number {
    const entry = this.#entries.get(key);
    return entry === undefined ? 0 : Math.max(0, entry.sinceMs + entry.delayMs - now);
  }

  failed(key: string, now: number): void {
    for (const [other, { sinceMs }] of this.#entries) {
      if (now - sinceMs <= 2 * this.#longestMs) break;
      this.#entries.delete(other);
    }
    const before = this.#entries.get(key);
    // Newest last, so that what has been quiet for long is found in front.
    this.#entries.delete(key);
    const delayMs = before === undefined ? this.#firstMs : Math.min(before.delayMs * 2, this.#longestMs);
    this.#entries.set(key, { delayMs, sinceMs: now });
  }
}
