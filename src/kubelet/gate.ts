// Lets a bounded number of pieces of work run at the same time; the rest waits in order.
// Guarantees: a piece that fails makes room like any other; who gives up while waiting leaves the queue.

export type Gate = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/**
 * A node that starts a hundred pods at once would otherwise open a hundred connections to the apiserver, each with its
 * handshake and its buffers, for requests that take a millisecond. A piece that runs for longer than `countsForMs` no
 * longer counts: what hangs holds nobody up.
 */
export function makeGate(atOnce: number, { countsForMs }: { readonly countsForMs?: number } = {}): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  };
  return async (work, signal) => {
    if (running >= atOnce) await turn(waiting, signal);
    else running++;
    let left = false;
    const leaveOnce = () => {
      if (!left) leave();
      left = true;
    };
    const timer = countsForMs === undefined ? undefined : setTimeout(leaveOnce, countsForMs);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      leaveOnce();
    }
  };
}

function turn(waiting: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = () => {
      signal?.removeEventListener('abort', giveUp);
      resolve();
    };
    const giveUp = () => {
      waiting.splice(waiting.indexOf(enter), 1);
      reject(signal?.reason);
    };
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener('abort', giveUp, { once: true });
    waiting.push(enter);
  });
}
