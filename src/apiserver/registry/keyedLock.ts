// Work on one key goes one after the other, work on different keys side by side.
// Guarantees: in the order of asking; a failure holds nobody up; nothing is kept for a key at rest.

export class KeyedLock {
  /** Settles when the last one who asked for the key is done; never rejects. */
  readonly #last = new Map<string, Promise<void>>();

  /** How many keys are worked on. */
  get size(): number {
    return this.#last.size;
  }

  /** Answers what the work answers. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const done = this.#last.get(key)?.then(work) ?? work();
    const settled = done.then(ignore, ignore).then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    this.#last.set(key, settled);
    return done;
  }
}

const ignore = () => {};
