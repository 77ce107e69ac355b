// The versions of a key's objects after its controller's last write: watch events of its own writes need no new plan.
// Guarantees: true only while nothing else has changed since the plan began, and every object is of the version it was left in.
import type { KubeObject, Stored } from '../api/object.js';

type Objects = readonly Stored<KubeObject>[];

export class WrittenVersions {
  /** The versions, or the mark of a plan that is being carried out. */
  readonly #keys = new Map<string, string | symbol>();

  /** Something else than the objects themselves has changed, or the key is gone. */
  changed(key: string): void {
    this.#keys.delete(key);
  }

  isAsLeft(key: string, present: Objects): boolean {
    return this.#keys.get(key) === versionsOf(present);
  }

  /** A plan begins. Call the answer with the objects when it has been carried out, and not when that failed. */
  begin(key: string): (objects: Objects) => void {
    const mark = Symbol(key);
    this.#keys.set(key, mark);
    return (objects) => {
      if (this.#keys.get(key) === mark) this.#keys.set(key, versionsOf(objects));
    };
  }
}

function versionsOf(objects: Objects): string {
  return objects
    .map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`)
    .sort()
    .join();
}
