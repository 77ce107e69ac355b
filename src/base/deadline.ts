// Waiting that ends: after a while, at a signal, or with the work.
// Guarantees: no timer is left behind; work that comes too late goes on by itself, and its failure is nobody's unhandled
// rejection.

/** Node fires a longer timer at once. Nobody is there any more to see that some 24.8 days were enough. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves after that time, or as soon as the signal is aborted. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(delayMs, LONGEST_TIMER_MS));
    signal?.addEventListener('abort', end, { once: true });
  });
}

const OVER = 'over';

/** What the work answers, or, when the time is over first, what `late` answers or throws. */
export async function within<T, L>(
  work: Promise<T>,
  limitMs: number,
  late: () => L,
  wait: typeof pause = pause,
): Promise<T | L> {
  const over = new AbortController();
  let isOver = false;
  const limit = wait(Math.max(0, limitMs), over.signal).then(() => (isOver ? undefined : late()));
  work.catch(() => {});
  try {
    return await (Promise.race([work, limit]) as Promise<T | L>);
  } finally {
    isOver = true;
    // Without a reason of its own, an error is made for each, with its stack.
    over.abort(OVER);
  }
}
