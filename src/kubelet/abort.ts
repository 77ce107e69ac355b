// Waiting that can be given up: for a pull, a hook or a stop that a newer wish overtakes.
// Guarantees: the thing waited for goes on by itself and its failure is not lost as an unhandled rejection; no time is too
// long to wait.
import { LONGEST_TIMER_MS } from '../base/deadline.js';

export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const give = () => reject(signal.reason);
    if (signal.aborted) {
      work.catch(() => {});
      give();
      return;
    }
    signal.addEventListener('abort', give, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
  });
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS));
  });
  return abortable(slept, signal).finally(() => clearTimeout(timer));
}
