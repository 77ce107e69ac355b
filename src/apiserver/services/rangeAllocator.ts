// Numbers handed out from a range: any by choice, or a specific one on request. Pure but for its own state.
// Guarantees: a number is held once; the lower band is touched by choice only when the upper one is full.

export interface RangeOptions {
  /** Numbers are 0 to size-1. */
  readonly size: number;
  /** Numbers below this are left for requests as long as others are free. */
  readonly staticBand: number;
  /** At least 0, below 1. */
  random(): number;
}

export class RangeAllocator {
  readonly #held = new Set<number>();
  readonly #options: RangeOptions;

  constructor(options: RangeOptions) {
    this.#options = options;
  }

  get free(): number {
    return this.#options.size - this.#held.size;
  }

  isHeld(number: number): boolean {
    return this.#held.has(number);
  }

  /** False when it is held already. The caller knows that the number is in the range. */
  take(number: number): boolean {
    if (this.#held.has(number)) return false;
    this.#held.add(number);
    return true;
  }

  /** Some free number, or undefined when there is none. */
  takeAny(): number | undefined {
    const { size, staticBand } = this.#options;
    const number = this.#freeFrom(staticBand, size) ?? this.#freeFrom(0, staticBand);
    if (number !== undefined) this.#held.add(number);
    return number;
  }

  release(number: number): void {
    this.#held.delete(number);
  }

  /** Starts at a random place, so that a released number is not the next one given: peers may still use it. */
  #freeFrom(first: number, end: number): number | undefined {
    const length = end - first;
    if (length <= 0) return undefined;
    const start = Math.floor(this.#options.random() * length);
    for (let step = 0; step < length; step += 1) {
      const number = first + ((start + step) % length);
      if (!this.#held.has(number)) return number;
    }
    return undefined;
  }
}

/** How much of a range is kept for explicit requests: a share, within bounds; nothing of a small range. */
export function staticBandOf(size: number, { share, most }: { share: number; most: number }): number {
  const least = 16;
  return size <= least ? 0 : Math.min(Math.max(least, Math.floor(size / share)), most);
}
