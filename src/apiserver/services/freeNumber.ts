// Chooses a free number of a range. Pure: who holds what is the caller's to know.
// Guarantees: the lower band is touched only when the upper one is full.

export interface NumberRange {
  /** Numbers are 0 to size-1. */
  readonly size: number;
  /** Numbers below this are left for requests as long as others are free. */
  readonly staticBand: number;
}

interface Choice {
  isFree(number: number): boolean;
  /** At least 0, below 1. */
  random(): number;
}

/** Some free number, or undefined when there is none. */
export function freeNumber({ size, staticBand }: NumberRange, choice: Choice): number | undefined {
  return freeBetween(staticBand, size, choice) ?? freeBetween(0, staticBand, choice);
}

/** Starts at a random place, so that a released number is not the next one given: peers may still use it. */
function freeBetween(first: number, end: number, { isFree, random }: Choice): number | undefined {
  const length = end - first;
  if (length <= 0) return undefined;
  const start = Math.floor(random() * length);
  for (let step = 0; step < length; step += 1) {
    const number = first + ((start + step) % length);
    if (isFree(number)) return number;
  }
  return undefined;
}

/** How much of a range is kept for explicit requests: a share, within bounds; nothing of a small range. */
export function staticBandOf(size: number, { share, most }: { share: number; most: number }): number {
  const least = 16;
  return size <= least ? 0 : Math.min(Math.max(least, Math.floor(size / share)), most);
}
