// Counts what each holder has at the moment, and the total: requests of a user, DNS queries of a client.
// Guarantees: releasing twice counts once; a holder of nothing takes no memory.

export class Tally {
  readonly #held = new Map<string, number>();
  #all = 0;

  /** What all hold together. */
  get all(): number {
    return this.#all;
  }

  of(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Answers how to give it back. */
  take(holder: string, amount = 1): () => void {
    this.#add(holder, amount);
    let isHeld = true;
    return () => {
      if (isHeld) this.#add(holder, -amount);
      isHeld = false;
    };
  }

  /** Those who hold something. */
  get size(): number {
    return this.#held.size;
  }

  #add(holder: string, amount: number): void {
    this.#all += amount;
    const held = this.of(holder) + amount;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }
}
