// Lets a bounded number of pieces of work run at the same time; the rest waits in order.
// Guarantees: a piece that fails makes room like any other.

export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * A node that starts a hundred pods at once would otherwise open a hundred connections to the apiserver, each with its
 * handshake and its buffers, for requests that take a millisecond.
 */
export function makeGate(atOnce: number): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
