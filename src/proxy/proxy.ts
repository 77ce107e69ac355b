// The proxy of a node: watches services and endpoints and keeps the kernel in step through one mode.
// Guarantees: nothing is written before the first complete view; what others change is put right; stopping leaves the
// rules in place.
import type { Log } from '../api/log.js';
import type { Informers } from '../client/informer.js';
import type { ConntrackPort, FlowFilter } from '../kernel/conntrack/port.js';
import { keepGlancing } from './glances.js';
import { ProxyMetrics } from './metrics.js';
import { staleAfter, staleOf } from './staleFlows.js';
import { isExternal, type ProxyMode, type ProxyState, type ServicePort } from './state.js';
import { makeSyncRunner } from './syncRunner.js';
import { trackServices } from './tracker.js';

export interface ProxyOptions {
  readonly informers: Informers;
  readonly nodeName: string;
  readonly mode: ProxyMode;
  readonly log: Log;
  /** Ends UDP flows to endpoints that are gone. Closed by the proxy. */
  readonly conntrack?: ConntrackPort;
  readonly minSyncPeriodMs?: number;
  /** How often everything is compared with the kernel, whatever happened. */
  readonly syncPeriodMs?: number;
  /** How often a mode whose kernel tells no events is looked at. */
  readonly glancePeriodMs?: number;
  /** Called after every sync that succeeded. */
  onSynced?(): void;
}

export interface RunningProxy {
  readonly metrics: ProxyMetrics;
  readonly tracker: ReturnType<typeof trackServices>;
  /** Resolves after the first state is in the kernel. */
  synced(): Promise<void>;
  /** How long a change has been waiting for its sync, in milliseconds; 0 when none is. */
  waitingMs(): number;
  stop(): Promise<void>;
}

const MIN_SYNC_PERIOD_MS = 20;
const SYNC_PERIOD_MS = 30_000;
const GLANCE_PERIOD_MS = 1000;
const RETRY_MS = { first: 100, most: 30_000 };

export function runProxy(options: ProxyOptions): RunningProxy {
  const { informers, nodeName, mode, log, conntrack } = options;
  const { minSyncPeriodMs = MIN_SYNC_PERIOD_MS, syncPeriodMs = SYNC_PERIOD_MS } = options;
  const metrics = new ProxyMetrics(
    () => mode.name,
    () => withoutLocal(tracker.state),
  );
  let firstSync: () => void = () => {};
  const synced = new Promise<void>((resolve) => {
    firstSync = resolve;
  });
  let isComplete = false;
  let isFull = true;
  let isSyncing = false;
  let syncs = 0;
  let waitingSince: number | undefined;
  const flows = conntrack === undefined ? undefined : flowKeeper(conntrack);

  const runner = makeSyncRunner({
    minPeriodMs: minSyncPeriodMs,
    retryMs: RETRY_MS,
    log,
    sync: async () => {
      const began = performance.now();
      const since = waitingSince;
      const changed = tracker.takeChanged();
      const triggers = tracker.takeTriggers();
      const full = isFull;
      isFull = false;
      isSyncing = true;
      try {
        const report = await mode.sync(tracker.state, full ? undefined : changed);
        metrics.sent = report.sent;
        for (const [key, error] of report.failed ?? [])
          log.error('a service port could not be programmed', { key, error });
        if (report.failed !== undefined && report.failed.size > 0) isFull = true;
      } catch (error) {
        isFull = true;
        metrics.failures += 1;
        throw error;
      } finally {
        isSyncing = false;
        syncs += 1;
      }
      const seconds = (performance.now() - began) / 1000;
      metrics.syncSeconds.observe(seconds);
      (full ? metrics.fullSyncSeconds : metrics.partialSyncSeconds).observe(seconds);
      const now = Date.now();
      for (const trigger of triggers) metrics.programmingSeconds.observe(Math.max(0, now - trigger) / 1000);
      metrics.lastSync = now;
      metrics.services = tracker.state.size;
      metrics.pending = 0;
      if (waitingSince === since) waitingSince = undefined;
      firstSync();
      options.onSynced?.();
      log.debug('rules written', { ports: tracker.state.size, changed: changed.size, seconds });
      // Flows are ended after the rules are in place: an earlier end would let them come back the old way.
      await flows?.follow(tracker.state, full ? undefined : changed).then(
        (ended) => {
          metrics.flowsEnded += ended;
        },
        (error: unknown) => log.error('stale UDP flows could not be ended', { error }),
      );
    },
  });
  const request = () => {
    if (!isComplete) return;
    metrics.lastQueued = Date.now();
    waitingSince ??= performance.now();
    runner.request();
  };
  const repair = () => {
    if (!isComplete) return;
    metrics.repairs += 1;
    log.warn('somebody changed the rules; writing them anew', { mode: mode.name });
    mode.forget();
    isFull = true;
    request();
  };
  const tracker = trackServices({
    informers,
    nodeName,
    onChange: () => {
      metrics.changes += 1;
      metrics.pending += 1;
      request();
    },
  });
  const unwatch = mode.watch?.(repair);
  const glances = keepGlancing({
    mode,
    periodMs: options.glancePeriodMs ?? GLANCE_PERIOD_MS,
    syncs: () => (isSyncing ? undefined : syncs),
    onDrift: repair,
  });
  const timer = setInterval(() => {
    mode.check?.().then(
      (isIntact) => (isIntact ? undefined : repair()),
      (error: unknown) => log.warn('the rules could not be checked', { error }),
    );
  }, syncPeriodMs);
  timer.unref();
  tracker.synced().then(() => {
    isComplete = true;
    request();
  });
  return {
    metrics,
    tracker,
    synced: () => synced,
    waitingMs: () => (waitingSince === undefined ? 0 : performance.now() - waitingSince),
    async stop() {
      clearInterval(timer);
      glances.stop();
      unwatch?.();
      tracker.stop();
      await runner.stop();
      mode.close();
      conntrack?.close();
    },
  };
}

/** Service ports with policy Local that somebody serves, but nobody on this node. */
function withoutLocal(state: ProxyState): { internal: number; external: number } {
  const found = { internal: 0, external: 0 };
  for (const port of state.values()) {
    if (!port.served || port.localEndpoints.length > 0) continue;
    if (port.internalLocal) found.internal += 1;
    if (port.externalLocal && isExternal(port)) found.external += 1;
  }
  return found;
}

/** Ends stale UDP flows; remembers the UDP ports it has seen, and only those. */
function flowKeeper(conntrack: ConntrackPort) {
  const seen = new Map<string, ServicePort>();
  let isFirst = true;
  const end = async (filters: readonly FlowFilter[]) =>
    filters.length === 0 ? 0 : conntrack.delete(filters);
  return {
    /** Answers how many it ended. */
    async follow(state: ReadonlyMap<string, ServicePort>, changed?: ReadonlySet<string>): Promise<number> {
      const filters: FlowFilter[] = [];
      for (const key of changed ?? new Set([...seen.keys(), ...state.keys()])) {
        const now = state.get(key);
        const before = seen.get(key);
        if (before === now || (before ?? now)?.protocol !== 'udp') continue;
        if (!isFirst) filters.push(...staleAfter(before, now));
        if (now === undefined) seen.delete(key);
        else seen.set(key, now);
      }
      if (!isFirst) return end(filters);
      isFirst = false;
      if (seen.size === 0) return 0;
      return end(staleOf(await conntrack.list([{ protocol: 'udp' }]), seen));
    },
  };
}
