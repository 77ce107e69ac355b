// What a controller has asked for and its cache has not shown yet, per key. Pure but for the state it holds.
// Guarantees: while something is expected the key is not planned again, so a late cache never makes two of anything.

/** After this long the events are taken for lost, as in Kubernetes. */
const EXPIRY_MS = 5 * 60 * 1000;

interface Expected {
  /** Creates under way whose uid is not known yet. */
  creating: number;
  /** Made, but not yet seen in the cache. */
  readonly made: Set<string>;
  /** Seen in the cache while creates were under way: the event may come before the answer. */
  readonly early: Set<string>;
  readonly deleting: Set<string>;
  sinceMs: number;
}

export class Expectations {
  readonly #keys = new Map<string, Expected>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  expectCreates(key: string, count: number): void {
    const expected = this.#of(key);
    expected.creating += count;
  }

  /** The server has answered one create. */
  created(key: string, uid: string): void {
    const expected = this.#keys.get(key);
    if (expected === undefined) return;
    if (!expected.early.delete(uid)) expected.made.add(uid);
    this.#endCreate(expected);
  }

  /** One create was refused or was never tried. */
  notCreated(key: string): void {
    const expected = this.#keys.get(key);
    if (expected !== undefined) this.#endCreate(expected);
  }

  expectDeletes(key: string, uids: Iterable<string>): void {
    const expected = this.#of(key);
    for (const uid of uids) expected.deleting.add(uid);
  }

  /** The cache shows the object. */
  observedCreate(key: string, uid: string): void {
    const expected = this.#keys.get(key);
    if (expected === undefined) return;
    if (!expected.made.delete(uid) && expected.creating > 0) expected.early.add(uid);
  }

  /** The cache shows the object terminating or gone, or its delete failed. */
  observedDelete(key: string, uid: string): void {
    const expected = this.#keys.get(key);
    expected?.deleting.delete(uid);
    expected?.made.delete(uid);
  }

  /** True when the cache shows everything that was asked for, or has had five minutes to. */
  satisfied(key: string): boolean {
    const expected = this.#keys.get(key);
    if (expected === undefined) return true;
    if (expected.creating + expected.made.size + expected.deleting.size > 0) {
      if (this.#now() - expected.sinceMs < EXPIRY_MS) return false;
    }
    this.#keys.delete(key);
    return true;
  }

  /** True for what was deleted on purpose and is still in the cache. */
  isDeleting(key: string, uid: string): boolean {
    return this.#keys.get(key)?.deleting.has(uid) === true;
  }

  forget(key: string): void {
    this.#keys.delete(key);
  }

  #of(key: string): Expected {
    let expected = this.#keys.get(key);
    if (expected === undefined) {
      expected = { creating: 0, made: new Set(), early: new Set(), deleting: new Set(), sinceMs: 0 };
      this.#keys.set(key, expected);
    }
    expected.sinceMs = this.#now();
    return expected;
  }

  #endCreate(expected: Expected): void {
    expected.creating = Math.max(0, expected.creating - 1);
    if (expected.creating === 0) expected.early.clear();
  }
}
