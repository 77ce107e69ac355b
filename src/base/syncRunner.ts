// Runs a sync when asked, not more often than allowed, never two at a time, and again after a failure.
// Guarantees: a request made during a sync leads to another one; `stop` waits for the one that runs.
export interface SyncRunnerOptions {
  readonly minPeriodMs: number;
  readonly retryMs: { readonly first: number; readonly most: number };
  readonly log: { error(message: string, fields: Readonly<Record<string, unknown>>): void };
  sync(): Promise<void>;
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
  let backoffMs = options.retryMs.first;

  const schedule = (delayMs: number) => {
    if (timer !== undefined || running !== undefined || stopped) return;
    timer = setTimeout(begin, delayMs);
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
      backoffMs = options.retryMs.first;
      return undefined;
    } catch (error) {
      const delayMs = backoffMs;
      backoffMs = Math.min(backoffMs * 2, options.retryMs.most);
      options.log.error('the rules could not be written; trying again', { error, delayMs });
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
