// Everything of one resource in memory: current objects in key order, and its part of the history.
// Guarantees: objects and changes are those of the store in order of revision. Of a kind that is seldom read no bytes are in
// memory but those of recent changes, where the store can be asked for them at once.
import type { KindDefinition } from '../../api/kind.js';
import type { Entry, StoreEvent } from '../../store/store.js';
import { CachedObject, type ReadValue } from './cached.js';
import type { Change, History, Window } from './history.js';
import { compareKeys, resourcePrefix } from './keys.js';

interface ChangeListener {
  onChange(change: Change): void;
  /** Called when the cache is filled anew: what follows would have a gap. */
  onReset(): void;
}

export class ResourceCache {
  #kind: KindDefinition;
  readonly #history: History;

  readonly prefix: string;
  #objects = new Map<string, CachedObject>();
  #keys: string[] = [];
  /** Its recent changes. */
  readonly window: Window;
  readonly #listeners = new Set<ChangeListener>();
  /** The revision of the last reading of everything. */
  filledAt = 0;
  readonly #read: ReadValue | undefined;
  /** Revision of this resource's newest change. */
  lastChange = 0;

  constructor(kind: KindDefinition, history: History, read?: ReadValue) {
    this.#kind = kind;
    this.#history = history;

    this.#read = kind.isSeldomRead === true ? read : undefined;
    this.window = history.openWindow();
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
    if (held?.revision === revision) return held;
    const object = new CachedObject(this.#kind, key, value, revision, this.#read);
    object.forgetBytes();
    return object;
  }

  /** Everything there is at the revision, in place of what was held. */
  fill(objects: readonly CachedObject[], revision: number): void {
    this.#objects = new Map(objects.map((object) => [object.key, object]));
    this.#keys = [...this.#objects.keys()].sort(compareKeys);
    this.window.reset(revision);
    this.lastChange = revision;
    this.filledAt = revision;
    this.#reset();
  }

  /** The definition of the kind has changed: watches end, so that clients see the objects as they are now. */
  become(kind: KindDefinition): void {
    this.#kind = kind;
    for (const [key, object] of this.#objects) this.#objects.set(key, object.as(kind));
    this.#reset();
  }

  /** The kind is served no more. */
  close(): void {
    this.#reset();
    this.#history.closeWindow(this.window);
  }

  #reset(): void {
    for (const listener of [...this.#listeners]) listener.onReset();
  }

  apply(event: StoreEvent): void {
    const { key, revision } = event;
    const previous = this.#objects.get(key);
    const deleted = event.type === 'delete';
    // What was deleted can no longer be read.
    const object = new CachedObject(this.#kind, key, event.value, revision, deleted ? undefined : this.#read);
    if (event.previous !== undefined) previous?.keepBytes(event.previous.value);
    if (deleted) {
      this.#objects.delete(key);
      const at = this.#position(key);
      if (this.#keys[at] === key) this.#keys.splice(at, 1);
    } else {
      if (previous === undefined) this.#keys.splice(this.#position(key), 0, key);
      this.#objects.set(key, object);
    }
    const change = { revision, key, object, deleted, previous, timeMs: this.#history.limits.now() };
    this.lastChange = revision;
    this.window.push(change);
    try {
      for (const listener of [...this.#listeners]) listener.onChange(change);
    } finally {
      this.#history.hold(change);
    }
  }

  /** Objects whose key starts with the prefix, in key order, from behind `after` on. */
  *range(prefix: string, after = ''): Generator<CachedObject> {
    const keys = this.#keys;
    let at = this.#position(compareKeys(after, prefix) > 0 ? after : prefix);
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
    return this.#position(`${prefix}\u{10ffff}`) - this.#position(`${key}\0`);
  }

  listen(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
