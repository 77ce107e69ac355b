// The proxy of a node: watches services and endpoints and keeps the kernel in step through one mode.
// Guarantees: nothing is written before the first complete view; stopping leaves the rules in place.
import type { Log } from '../api/log.js';
import type { Informers } from '../client/informer.js';
import type { ProxyMode } from './state.js';
import { makeSyncRunner } from './syncRunner.js';
import { trackServices } from './tracker.js';

export interface ProxyOptions {
  readonly informers: Informers;
  readonly nodeName: string;
  readonly mode: ProxyMode;
  readonly log: Log;
  readonly minSyncPeriodMs?: number;
}

export interface RunningProxy {
  /** Resolves after the first state is in the kernel. */
  synced(): Promise<void>;
  stop(): Promise<void>;
}

const MIN_SYNC_PERIOD_MS = 20;
const RETRY_MS = { first: 100, most: 30_000 };

export function runProxy(options: ProxyOptions): RunningProxy {
  const { informers, nodeName, mode, log, minSyncPeriodMs = MIN_SYNC_PERIOD_MS } = options;
  let firstSync: () => void = () => {};
  const synced = new Promise<void>((resolve) => {
    firstSync = resolve;
  });
  let complete = false;
  const runner = makeSyncRunner({
    minPeriodMs: minSyncPeriodMs,
    retryMs: RETRY_MS,
    log,
    sync: async () => {
      const state = tracker.state();
      await mode.sync(state);
      firstSync();
      log.debug('rules written', { ports: state.size });
    },
  });
  const tracker = trackServices(informers, nodeName, () => {
    if (complete) runner.request();
  });
  tracker.synced().then(() => {
    complete = true;
    runner.request();
  });
  return {
    synced: () => synced,
    async stop() {
      tracker.stop();
      await runner.stop();
      mode.close();
    },
  };
}
