// Chance that can be repeated, and turns of the event loop.

/** Small, seeded, good enough to choose by. */
export function random(seed: number): () => number {
  let state = seed * 2654435761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
