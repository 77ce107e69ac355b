// Objects parsed a moment ago: one change is looked at by selectors and told to several clients in this process.
// Guarantees: bounded in bytes and in number, but for the one used last; what is gone is parsed again, and is the same.
// None tells who wrote which field.
import type { KubeObject } from '../../api/object.js';

/** Of their JSON; as data they are some times that. */
const LIMIT_BYTES = 1024 * 1024;
const MOST = 256;

interface Parsable {
  readonly size: number;
  parseWithoutManagers(): KubeObject;
}

export class ParsedObjects {
  /** The oldest come first. */
  readonly #byObject = new Map<Parsable, { readonly value: KubeObject; readonly bytes: number }>();
  #bytes = 0;
  readonly #limitBytes: number;

  constructor(limitBytes = LIMIT_BYTES) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Not to be changed: others have it too. */
  of(object: Parsable): KubeObject {
    const known = this.#byObject.get(object);
    if (known !== undefined) return known.value;
    const [value, bytes] = [object.parseWithoutManagers(), object.size];
    this.#byObject.set(object, { value, bytes });
    this.#bytes += bytes;
    for (const [old, { bytes }] of this.#byObject) {
      const isWithin = this.#bytes <= this.#limitBytes && this.#byObject.size <= MOST;
      if (isWithin || old === object) break;
      this.#byObject.delete(old);
      this.#bytes -= bytes;
    }
    return value;
  }
}
