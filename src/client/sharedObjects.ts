// One copy of an object for all informers of a process that hold the same version of it.
// Guarantees: objects are frozen, so sharing cannot be noticed; what no informer holds any more is not kept.
import type { KubeObject, Stored } from '../api/object.js';
import { deepFreeze } from './freeze.js';

export class SharedObjects {
  readonly #newest = new Map<string, WeakRef<Stored<KubeObject>>>();

  /** The copy that another informer holds of this version, or this one. `kind` tells forms of one object apart. */
  share<T extends KubeObject>(kind: string, object: Stored<T>): Stored<T> {
    const key = keyOf(kind, object);
    const held = this.#newest.get(key)?.deref();
    if (held?.metadata.resourceVersion === object.metadata.resourceVersion) return held as Stored<T>;
    this.#newest.set(key, new WeakRef(deepFreeze(object)));
    return object;
  }

  /** The object is gone: nobody will ask for it again. */
  forget(kind: string, object: Stored<KubeObject>): void {
    this.#newest.delete(keyOf(kind, object));
  }
}

function keyOf(kind: string, { metadata }: Stored<KubeObject>): string {
  return `${kind} ${metadata.uid}`;
}
