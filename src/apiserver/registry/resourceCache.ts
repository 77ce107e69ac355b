// Everything of one resource in memory: current objects in key order, and the recent changes for watches.
// Guarantees: objects and changes are those of the store in order of revision; what is older than the window is refused.
import type { KindDefinition } from '../../api/kind.js';
import { statusError } from '../../api/status.js';
import type { Entry, StoreEvent } from '../../store/store.js';
import { CachedObject } from './cached.js';
import { resourcePrefix } from './keys.js';

export interface Change {
  readonly revision: number;
  readonly key: string;
  /** The new version; for a deletion the last one, at the deletion's revision. */
  readonly object: CachedObject;
  readonly deleted: boolean;
  readonly previous: CachedObject | undefined;
}

export interface ChangeListener {
  onChange(change: Change): void;
  /** Called when the cache is filled anew: what follows would have a gap. */
  onReset(): void;
}

const WINDOW_CHANGES = 10_000;
const WINDOW_BYTES = 32 * 1024 * 1024;

export class ResourceCache {
  readonly prefix: string;
  #objects = new Map<string, CachedObject>();
  #keys: string[] = [];
  #window: Change[] = [];
  #windowBytes = 0;
  /** Changes after this revision are all in the window. */
  #windowStart = 0;
  readonly #listeners = new Set<ChangeListener>();
  /** Revision of this resource's newest change. */
  lastChange = 0;

  constructor(readonly kind: KindDefinition) {
    this.prefix = resourcePrefix(kind.type);
  }

  get(key: string): CachedObject | undefined {
    return this.#objects.get(key);
  }

  get size(): number {
    return this.#objects.size;
  }

  /** What the cache would hold of this entry: the object that is held already, when it is that version. */
  objectOf({ key, value, revision }: Entry): CachedObject {
    const held = this.#objects.get(key);
    return held?.revision === revision ? held : new CachedObject(this.kind, key, value, revision);
  }

  /** Everything there is at the revision, in place of what was held. */
  fill(objects: readonly CachedObject[], revision: number): void {
    this.#objects = new Map(objects.map((object) => [object.key, object]));
    this.#keys = [...this.#objects.keys()].sort(compareKeys);
    this.#window = [];
    this.#windowBytes = 0;
    this.#windowStart = revision;
    this.lastChange = revision;
    for (const listener of [...this.#listeners]) listener.onReset();
  }

  apply(event: StoreEvent): void {
    const { key, revision } = event;
    const previous = this.#objects.get(key);
    const deleted = event.type === 'delete';
    const object = new CachedObject(this.kind, key, event.value, revision);
    if (deleted) {
      this.#objects.delete(key);
      const at = this.#position(key);
      if (this.#keys[at] === key) this.#keys.splice(at, 1);
    } else {
      if (previous === undefined) this.#keys.splice(this.#position(key), 0, key);
      this.#objects.set(key, object);
    }
    const change = { revision, key, object, deleted, previous };
    this.lastChange = revision;
    this.#remember(change);
    for (const listener of [...this.#listeners]) listener.onChange(change);
  }

  /** Objects whose key starts with the prefix, in key order, from behind `after` on. */
  *range(prefix: string, after = ''): Generator<CachedObject> {
    const keys = this.#keys;
    let at = this.#position(after > prefix ? after : prefix);
    if (keys[at] === after) at += 1;
    for (; at < keys.length; at += 1) {
      const key = keys[at] as string;
      if (!key.startsWith(prefix)) return;
      const object = this.#objects.get(key);
      if (object !== undefined) yield object;
    }
  }

  /** How many objects of the prefix lie behind this key. */
  countAfter(prefix: string, key: string): number {
    return this.#position(`${prefix}\uffff`) - this.#position(`${key}\0`);
  }

  /** The changes after a revision. Throws Expired when some of them are no longer held. */
  changesAfter(revision: number): readonly Change[] {
    if (revision < this.#windowStart) {
      throw statusError('Expired', `too old resource version: ${revision} (${this.#windowStart})`);
    }
    let low = 0;
    let high = this.#window.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#window[middle] as Change).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#window.slice(low);
  }

  listen(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #remember(change: Change): void {
    this.#window.push(change);
    this.#windowBytes += change.object.bytes.length;
    // Dropped a quarter at a time: shifting one by one would move the whole array for every change.
    if (this.#window.length <= WINDOW_CHANGES && this.#windowBytes <= WINDOW_BYTES) return;
    const dropped = this.#window.splice(0, Math.ceil(this.#window.length / 4));
    for (const { object } of dropped) this.#windowBytes -= object.bytes.length;
    this.#windowStart = dropped.at(-1)?.revision ?? this.#windowStart;
  }

  /** Index of the first key that is not less. */
  #position(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareKeys(this.#keys[middle] as string, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** By code units: keys are ASCII, so this is the store's order by bytes. */
function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
