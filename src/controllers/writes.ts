// The newest revision of each object that a controller itself wrote, per key: reading one's own writes.
// Guarantees: `seen` is false until the cache has caught up with every write, or five minutes have passed.
import type { KubeObject, Stored } from '../api/object.js';

const EXPIRY_MS = 5 * 60 * 1000;

interface Written {
  readonly revision: bigint;
  readonly atMs: number;
}

export class Writes {
  readonly #keys = new Map<string, Map<string, Written>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  wrote(key: string, { metadata }: Stored<KubeObject>): void {
    let objects = this.#keys.get(key);
    if (objects === undefined) {
      objects = new Map();
      this.#keys.set(key, objects);
    }
    objects.set(metadata.uid, { revision: revisionOf(metadata.resourceVersion), atMs: this.#now() });
  }

  /** The cache has told of this object's end: its writes no longer matter. */
  gone(key: string, uid: string): void {
    const objects = this.#keys.get(key);
    if (objects?.delete(uid) && objects.size === 0) this.#keys.delete(key);
  }

  /** Compares with what the cache holds now. */
  seen(key: string, cached: readonly Stored<KubeObject>[]): boolean {
    const objects = this.#keys.get(key);
    if (objects === undefined) return true;
    for (const { metadata } of cached) {
      const written = objects.get(metadata.uid);
      if (written !== undefined && revisionOf(metadata.resourceVersion) >= written.revision)
        objects.delete(metadata.uid);
    }
    for (const [uid, { atMs }] of objects) if (this.#now() - atMs >= EXPIRY_MS) objects.delete(uid);
    if (objects.size > 0) return false;
    this.#keys.delete(key);
    return true;
  }

  forget(key: string): void {
    this.#keys.delete(key);
  }
}

/** Revisions of one resource are comparable integers; anything else counts as already seen. */
function revisionOf(resourceVersion: string): bigint {
  return /^[0-9]+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}
