// The recent changes of all resources, kept once: watches follow them here and resume from them.
// Guarantees: bounded by age and by bytes, with everything a change keeps alive counted once; what is dropped is let go at
// once; when bytes run out the largest window gives, so one busy resource does not take the past of the others.
import { statusError } from '../../api/status.js';
import type { CachedObject } from './cached.js';

export interface Change {
  readonly revision: number;
  readonly key: string;
  /** The new version; for a deletion the last one, at the deletion's revision. */
  readonly object: CachedObject;
  readonly deleted: boolean;
  readonly previous: CachedObject | undefined;
  readonly timeMs: number;
}

interface HistoryLimits {
  readonly bytes: number;
  readonly ageMs: number;
  readonly now: () => number;
}

/** Kubernetes' own: a client that hears a bookmark each minute can always resume. */
const AGE_MS = 75_000;
const BYTES = 48 * 1024 * 1024;
/** Of a change and its places in arrays and maps. */
const CHANGE_BYTES = 256;

export class History {
  readonly limits: HistoryLimits;
  readonly #windows: Window[] = [];
  /** What changes keep alive: how many of them, and what it was counted as. */
  readonly #held = new Map<CachedObject, { changes: number; readonly bytes: number }>();
  #bytes = 0;

  constructor({ bytes = BYTES, ageMs = AGE_MS, now = Date.now }: Partial<HistoryLimits> = {}) {
    this.limits = { bytes, ageMs, now };
  }

  /** Everything that is held, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  openWindow(): Window {
    const window = new Window(this);
    this.#windows.push(window);
    return window;
  }

  /** Of a resource that is served no more. */
  closeWindow(window: Window): void {
    window.reset(0);
    const at = this.#windows.indexOf(window);
    if (at !== -1) this.#windows.splice(at, 1);
  }

  /** Drops what has become too old: for resources that no longer change. */
  expire(): void {
    for (const window of this.#windows) window.expire();
  }

  /** Counts a change that was just added to its window, and drops what is too much. */
  hold({ object, previous }: Change): void {
    this.#bytes += CHANGE_BYTES;
    this.#retain(object);
    if (previous !== undefined) this.#retain(previous);
    while (this.#bytes > this.limits.bytes) {
      const largest = this.#windows.reduce((one, other) => (other.bytes > one.bytes ? other : one));
      if (!largest.drop()) return;
    }
  }

  /** Of a change that its window has dropped. */
  letGo({ object, previous }: Change): void {
    this.#bytes -= CHANGE_BYTES;
    this.#release(object);
    if (previous !== undefined) this.#release(previous);
  }

  #retain(object: CachedObject): void {
    const known = this.#held.get(object);
    if (known !== undefined) {
      known.changes += 1;
      return;
    }
    const bytes = object.heldBytes;
    this.#held.set(object, { changes: 1, bytes });
    this.#bytes += bytes;
  }

  #release(object: CachedObject): void {
    const known = this.#held.get(object);
    if (known === undefined) return;
    known.changes -= 1;
    if (known.changes > 0) return;
    this.#held.delete(object);
    this.#bytes -= known.bytes;
    object.forgetBytes();
  }
}

/** The changes of one resource. Each has a number of its own, and a reader remembers no more than the next one's. */
export class Window {
  readonly #history: History;

  #changes: (Change | undefined)[] = [];
  /** Where the oldest change is in the array; those before have been dropped. */
  #first = 0;
  /** Number of the array's first place. */
  #base = 0;
  #start = 0;
  #bytes = 0;

  constructor(history: History) {
    this.#history = history;
  }

  /** By object, so that the window with the largest ones gives first. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number that the next change will have. */
  get end(): number {
    return this.#base + this.#changes.length;
  }

  /** Forgets everything: what follows is after this revision. */
  reset(revision: number): void {
    while (this.drop());
    this.#start = revision;
  }

  /** Counted by `hold` when its listeners have been told: what they look at is kept with it. */
  push(change: Change): void {
    this.#changes.push(change);
    this.#bytes += change.object.size + CHANGE_BYTES;
    this.expire();
  }

  /** Undefined when there is no such change yet, or no longer: see `isLost`. */
  at(number: number): Change | undefined {
    return this.#changes[number - this.#base];
  }

  /** True when a reader that comes to this number has missed a change. */
  isLost(number: number): boolean {
    return number < this.#base + this.#first;
  }

  /** The number of the first change after a revision. Throws Expired when some of them are no longer held. */
  numberAfter(revision: number): number {
    if (revision < this.#start) {
      throw statusError('Expired', `too old resource version: ${revision} (${this.#start})`);
    }
    let low = this.#first;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#changes[middle] as Change).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#base + low;
  }

  expire(): void {
    const { ageMs, now } = this.#history.limits;
    const oldest = now() - ageMs;
    for (;;) {
      const change = this.#changes[this.#first];
      if (change === undefined || change.timeMs >= oldest) return;
      this.drop();
    }
  }

  /** Drops the oldest change; false when there is none. */
  drop(): boolean {
    const change = this.#changes[this.#first];
    if (change === undefined) return false;
    // Let go here and now; the array itself is moved when half of it is empty.
    this.#changes[this.#first] = undefined;
    this.#first += 1;
    this.#start = change.revision;
    this.#bytes -= change.object.size + CHANGE_BYTES;
    this.#history.letGo(change);
    if (this.#first * 2 > this.#changes.length) {
      this.#changes = this.#changes.slice(this.#first);
      this.#base += this.#first;
      this.#first = 0;
    }
    return true;
  }
}
