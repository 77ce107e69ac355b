// Bytes made of objects for the wire, kept for a moment: an event goes to many watchers, and a large one leaves in pieces.
// Guarantees: bounded in bytes, the objects counted too, and in number, but for the one used last; what is gone is made
// again, and is the same.

const LIMIT_BYTES = 8 * 1024 * 1024;
const MOST = 256;

export class Frames {
  readonly #limitBytes;

  /** By the stored bytes, then by form. The oldest come first. */
  readonly #byObject = new Map<Buffer, Map<string, Buffer>>();
  #bytes = 0;

  constructor(limitBytes = LIMIT_BYTES) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `form` says everything that `make` depends on beside the object. */
  of(object: Buffer, form: string, make: () => Buffer): Buffer {
    const forms = this.#byObject.get(object);
    const known = forms?.get(form);
    if (known !== undefined) return known;
    const made = make();
    if (forms === undefined) {
      this.#byObject.set(object, new Map([[form, made]]));
      this.#bytes += object.length;
    } else forms.set(form, made);
    this.#bytes += made.length;
    this.#forget(object);
    return made;
  }

  #forget(kept: Buffer): void {
    for (const [object, forms] of this.#byObject) {
      const isWithin = this.#bytes <= this.#limitBytes && this.#byObject.size <= MOST;
      if (isWithin || object === kept) return;
      this.#byObject.delete(object);
      this.#bytes -= object.length;
      for (const { length } of forms.values()) this.#bytes -= length;
    }
  }
}

/** Of all watches and lists. */
export const frames = new Frames();
