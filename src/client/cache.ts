// The local copy of a resource: objects by key, indexes over them, and what each piece of news changed. Pure.
// Guarantees: objects are frozen and without managedFields; a list is compared with the copy, so deletes that no watch told of are found.
import { type KubeObject, keyOf, type Stored } from '../api/object.js';
import type { WatchEvent } from './client.js';
import { deepFreeze } from './freeze.js';
import type { IndexFunction } from './informer.js';
import type { SharedObjects } from './sharedObjects.js';

export type Change<T> =
  | { readonly type: 'added' | 'deleted'; readonly object: Stored<T> }
  | { readonly type: 'updated'; readonly object: Stored<T>; readonly previous: Stored<T> };

interface Index<T extends KubeObject> {
  readonly values: IndexFunction<T>;
  readonly buckets: Map<string, Map<string, Stored<T>>>;
}

/** Where copies are shared with other caches, and under which name. */
interface Sharing {
  readonly objects: SharedObjects;
  readonly kind: string;
}

export class ObjectCache<T extends KubeObject> {
  readonly #sharing: Sharing | undefined;

  constructor(sharing?: Sharing) {
    this.#sharing = sharing;
  }

  readonly #objects = new Map<string, Stored<T>>();
  readonly #indexes = new Map<string, Index<T>>();

  get(key: string): Stored<T> | undefined {
    return this.#objects.get(key);
  }

  list(): Stored<T>[] {
    return [...this.#objects.values()];
  }

  index(name: string, values: IndexFunction<T>): void {
    if (this.#indexes.has(name)) return;
    const index: Index<T> = { values, buckets: new Map() };
    for (const [key, object] of this.#objects) enter(index, key, object);
    this.#indexes.set(name, index);
  }

  byIndex(name: string, value: string): Stored<T>[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new RangeError(`there is no index "${name}"`);
    const bucket = index.buckets.get(value);
    return bucket === undefined ? [] : [...bucket.values()];
  }

  /** Takes a complete list; answers what is different from before. */
  replace(items: readonly Stored<T>[]): Change<T>[] {
    const changes: Change<T>[] = [];
    const listed = new Set(items.map(({ metadata }) => keyOf(metadata)));
    for (const [key, object] of this.#objects) {
      if (!listed.has(key)) changes.push(...this.#remove(key, object));
    }
    for (const item of items) changes.push(...this.#put(item));
    return changes;
  }

  apply(event: WatchEvent<T>): Change<T>[] {
    if (event.type === 'BOOKMARK') return [];
    if (event.type === 'DELETED') return this.#remove(keyOf(event.object.metadata), event.object);
    return this.#put(event.object);
  }

  #put(item: Stored<T>): Change<T>[] {
    const key = keyOf(item.metadata);
    const previous = this.#objects.get(key);
    // The same version again is no news: a list repeats most of what is known.
    if (previous !== undefined && sameVersion(previous, item)) return [];
    const object = this.own(item);
    // Another uid under the same name is another object: the first one was deleted while nobody was watching.
    const replaced = previous !== undefined && previous.metadata.uid !== object.metadata.uid;
    const changes: Change<T>[] = replaced ? this.#remove(key, previous) : [];
    this.#set(key, object);
    if (previous === undefined || replaced) changes.push({ type: 'added', object });
    else changes.push({ type: 'updated', object, previous });
    return changes;
  }

  /** `last` is the object as it was when it went away, which may be newer than the copy. */
  #remove(key: string, last: Stored<T>): Change<T>[] {
    const known = this.#objects.get(key);
    if (known === undefined) return [];
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) leave(index, key, known);
    this.#sharing?.objects.forget(this.#sharing.kind, known);
    return [{ type: 'deleted', object: deepFreeze(last) }];
  }

  /** The copy that is held of this version, here or by another who shares; or the item, frozen. */
  own(item: Stored<T>): Stored<T> {
    const object = withoutManagers(item);
    return this.#sharing === undefined
      ? deepFreeze(object)
      : this.#sharing.objects.share(this.#sharing.kind, object);
  }

  #set(key: string, object: Stored<T>): void {
    const previous = this.#objects.get(key);
    for (const index of this.#indexes.values()) {
      if (previous !== undefined) leave(index, key, previous);
      enter(index, key, object);
    }
    this.#objects.set(key, object);
  }
}

/** Half of an object may tell who wrote which field; nobody reads that here, and a server keeps it when it is not sent. */
function withoutManagers<T extends KubeObject>(item: Stored<T>): Stored<T> {
  if (item.metadata.managedFields === undefined) return item;
  const { managedFields: _, ...metadata } = item.metadata;
  return { ...item, metadata };
}

function sameVersion(one: Stored<KubeObject>, other: Stored<KubeObject>): boolean {
  return (
    one.metadata.resourceVersion === other.metadata.resourceVersion && one.metadata.uid === other.metadata.uid
  );
}

// Index functions are pure and objects frozen, so the values of the old object can be asked again instead of kept.
function enter<T extends KubeObject>({ values, buckets }: Index<T>, key: string, object: Stored<T>): void {
  for (const value of values(object)) {
    const bucket = buckets.get(value);
    if (bucket === undefined) buckets.set(value, new Map([[key, object]]));
    else bucket.set(key, object);
  }
}

function leave<T extends KubeObject>({ values, buckets }: Index<T>, key: string, object: Stored<T>): void {
  for (const value of values(object)) {
    const bucket = buckets.get(value);
    bucket?.delete(key);
    if (bucket?.size === 0) buckets.delete(value);
  }
}
