// What a part has opened, and the order in which it is closed.
// Guarantees: newest first, one after the other, each once; one that cannot be closed is told of and keeps none of the
// others open.

export class Closers {
  readonly #failed: (error: unknown) => void;

  #closers: (() => unknown)[] = [];

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  add(...closers: (() => unknown)[]): void {
    this.#closers.push(...closers);
  }

  /** Never rejects. */
  async close(): Promise<void> {
    const closers = this.#closers.reverse();
    this.#closers = [];
    for (const closer of closers)
      try {
        await closer();
      } catch (error) {
        this.#failed(error);
      }
  }
}
