// What webhooks answered lately: an event goes to many watchers, and a list is often read again.
// Guarantees: bounded in bytes; what a webhook would answer otherwise by now is gone after some seconds; a failure is not kept.
import type { CachedObject } from '../../registry/cached.js';

const LIMIT_BYTES = 32 * 1024 * 1024;
const KEPT_MS = 10_000;

interface Known {
  readonly object: CachedObject;
  readonly bytes: number;
  readonly untilMs: number;
}

export class KnownConversions {
  readonly #limitBytes;
  readonly #now: () => number;

  /** The oldest come first. */
  readonly #known = new Map<string, Known>();
  readonly #expected = new Map<string, Promise<CachedObject>>();
  #bytes = 0;

  constructor(limitBytes = LIMIT_BYTES, now: () => number = () => performance.now()) {
    this.#limitBytes = limitBytes;
    this.#now = now;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): CachedObject | Promise<CachedObject> | undefined {
    const held = this.#known.get(key);
    if (held !== undefined && held.untilMs > this.#now()) return held.object;
    return this.#expected.get(key);
  }

  /** Those who ask before it is there wait for the same. */
  expect(key: string, conversion: Promise<CachedObject>): void {
    this.#expected.set(key, conversion);
    conversion.then(
      (object) => this.#keep(key, object),
      () => this.#expected.delete(key),
    );
  }

  #keep(key: string, object: CachedObject): void {
    this.#expected.delete(key);
    this.#forget(key);
    const bytes = object.heldBytes;
    this.#known.set(key, { object, bytes, untilMs: this.#now() + KEPT_MS });
    this.#bytes += bytes;
    for (const [oldest, { untilMs }] of this.#known) {
      if (this.#bytes <= this.#limitBytes && untilMs > this.#now()) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const held = this.#known.get(key);
    if (held === undefined) return;
    this.#known.delete(key);
    this.#bytes -= held.bytes;
  }
}
