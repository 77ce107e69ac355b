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

/** What the work answers, or, when the time is over first, what `late` answers or throws. */
export async function within<T, L>(
  work: Promise<T>,
  limitMs: number,
  late: () => L,
  wait?: typeof pause,
): Promise<T | L> {
  let isOver = false;
  const { reached, stop } = wait === undefined ? timeLimit(limitMs) : waitedLimit(limitMs, wait);
  const limit = reached.then(() => (isOver ? undefined : late()));
  work.catch(() => {});
  try {
    return await (Promise.race([work, limit]) as Promise<T | L>);
  } finally {
    isOver = true;
    stop();
  }
}

interface Limit {
  readonly reached: Promise<void>;
  stop(): void;
}

/** For each Pod that is bound there is one: a timer costs a tenth of a signal. */
function timeLimit(limitMs: number): Limit {
  let timer: NodeJS.Timeout | undefined;
  const reached = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(Math.max(0, limitMs), LONGEST_TIMER_MS));
  });
  return { reached, stop: () => clearTimeout(timer) };
}

function waitedLimit(limitMs: number, wait: typeof pause): Limit {
  const over = new AbortController();
  return { reached: wait(Math.max(0, limitMs), over.signal), stop: () => over.abort() };
}
