// Runs a sync when asked, not more often than allowed, never two at a time, and again after a failure.
// Guarantees: a request made during a sync leads to another one; `stop` waits for the one that runs.
import { BackOff, type BackOffBounds } from './backOff.js';
import { LONGEST_TIMER_MS } from './deadline.js';

interface SyncRunnerOptions {
  readonly minPeriodMs: number;
  readonly retry: BackOffBounds;
  sync(): Promise<void>;
  /** Told of each failure, and after how long the next try comes. */
  failed(error: unknown, delayMs: number): void;
}

export interface SyncRunner {
  request(): void;
  stop(): Promise<void>;
}

export function makeSyncRunner(options: SyncRunnerOptions): SyncRunner {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let wanted = false;
  let stopped = false;
  let lastEnd = Number.NEGATIVE_INFINITY;
  const backOff = new BackOff(options.retry);

  const schedule = (delayMs: number) => {
    if (timer !== undefined || running !== undefined || stopped) return;
    timer = setTimeout(begin, Math.min(delayMs, LONGEST_TIMER_MS));
  };
  const begin = () => {
    timer = undefined;
    wanted = false;
    running = attempt().then((delayMs) => {
      running = undefined;
      lastEnd = performance.now();
      if (delayMs !== undefined) schedule(delayMs);
      else if (wanted) schedule(options.minPeriodMs);
    });
  };
  /** Answers after how long to try again. */
  const attempt = async (): Promise<number | undefined> => {
    try {
      await options.sync();
      backOff.reset();
      return undefined;
    } catch (error) {
      const delayMs = backOff.next();
      options.failed(error, delayMs);
      return delayMs;
    }
  };
  return {
    request() {
      wanted = true;
      schedule(Math.max(0, options.minPeriodMs - (performance.now() - lastEnd)));
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
