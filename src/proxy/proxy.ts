// The proxy of a node: watches services and endpoints and keeps the kernel in step through one mode.
// Guarantees: nothing is written before the first complete view; what others change is put right; the mode does one thing at
// a time, so that a sync is never taken for somebody else's change; a port that cannot be programmed is left out, told of
// and tried again, and the others are served; stopping leaves the rules in place.

import { isExternal, type ProxyMode, type ProxyState } from '../../proxy-modes/mode.js';
import type { V1Service } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import type { Stored } from '../api/object.js';
import { SERVICES } from '../api/resources.js';
import { Closers } from '../base/closers.js';
import { LONGEST_TIMER_MS } from '../base/deadline.js';
import { makeSyncRunner, type SyncRunner } from '../base/syncRunner.js';
import type { Informers } from '../client/informer.js';
import type { ConntrackPort } from '../kernel/conntrack/port.js';
import { pollDrift } from './driftPoll.js';
import { ProxyMetrics } from './metrics.js';
import { makeRefusals } from './refusals.js';
import { StaleFlowRemoval, type UdpPorts } from './staleFlowRemoval.js';
import { Tracker } from './tracker.js';

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
  /** Called after every sync that succeeded. */
  onSynced?(): void;
  /** Tells of a service of which something cannot be programmed. */
  refused?(service: Stored<V1Service>, why: string): void;
}

const MIN_SYNC_PERIOD_MS = 20;
const SYNC_PERIOD_MS = 30_000;
const DRIFT_PERIOD_MS = 1000;
const RETRY = { firstMs: 100, longestMs: 30_000 };
/** After which flows that could not be ended are looked at again. */
const FLOW_RETRY_MS = 1000;

export class NodeProxy {
  readonly #options: ProxyOptions;

  readonly metrics: ProxyMetrics;
  readonly tracker: Tracker;
  readonly #runner: SyncRunner;
  readonly #flows: StaleFlowRemoval | undefined;
  readonly #refusals = makeRefusals();
  readonly #closers = new Closers((error) => this.#options.log.error('could not end in order', { error }));
  #first: () => void = () => {};
  readonly #synced = new Promise<void>((resolve) => {
    this.#first = resolve;
  });
  #isComplete = false;
  #isFull = true;
  #isSyncing = false;
  #syncs = 0;
  #serviceCidrs: readonly string[] = [];
  /** Since when changes wait that no sync has begun with, and those of the sync that runs. */
  #waitingSince: number | undefined;
  #writingSince: number | undefined;
  #flowRetry: NodeJS.Timeout | undefined;
  /** Ends when what the mode does now has ended. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: ProxyOptions) {
    this.#options = options;

    const { informers, nodeName, mode, log, conntrack, minSyncPeriodMs = MIN_SYNC_PERIOD_MS } = options;
    this.#flows = conntrack && new StaleFlowRemoval(conntrack);
    this.metrics = new ProxyMetrics(
      () => mode.name,
      () => withoutLocal(this.tracker.state),
    );
    const sync = () => this.#inTurn(() => this.#sync());
    this.#runner = makeSyncRunner({
      minPeriodMs: minSyncPeriodMs,
      retry: RETRY,
      sync,
      failed: (error, delayMs) =>
        log.error('the rules could not be written; trying again', { error, delayMs }),
    });
    this.tracker = new Tracker({
      informers,
      nodeName,
      onChange: () => {
        this.metrics.changes += 1;
        this.metrics.pending += 1;
        this.#request();
      },
    });
    this.#watch();
    this.tracker.synced().then(() => {
      this.#isComplete = true;
      this.#request();
    });
  }

  /** Resolves after the first state is in the kernel. */
  synced(): Promise<void> {
    return this.#synced;
  }

  /** How long a change has been waiting for its sync, in milliseconds; 0 when none is. */
  waitingMs(): number {
    const since = this.#writingSince ?? this.#waitingSince;
    return since === undefined ? 0 : performance.now() - since;
  }

  async stop(): Promise<void> {
    await this.#closers.close();
    this.tracker.stop();
    await this.#runner.stop();
    await this.#turn;
    this.#options.mode.close();
    this.#options.conntrack?.close();
  }

  /** Three ways to learn of what others did: events, cheap looks where there are none, and a whole look now and then. */
  #watch(): void {
    const { mode, syncPeriodMs = SYNC_PERIOD_MS } = this.#options;
    const unwatch = mode.watch?.(() => this.#repair());
    const poll = pollDrift({
      mode: { check: () => this.#check(), ...(mode.stamp && { stamp: mode.stamp.bind(mode) }) },
      periodMs: DRIFT_PERIOD_MS,
      syncs: () => (this.#isSyncing ? undefined : this.#syncs),
      onDrift: () => this.#repair(),
    });
    const timer = setInterval(() => void this.#inspect(), Math.min(syncPeriodMs, LONGEST_TIMER_MS));
    timer.unref();
    this.#closers.add(
      () => clearTimeout(this.#flowRetry),
      () => clearInterval(timer),
      () => poll.stop(),
      () => unwatch?.(),
    );
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** A mode that cannot tell is taken to be intact. */
  #check(): Promise<boolean> {
    return this.#inTurn(async () => (await this.#options.mode.check?.()) !== false);
  }

  #request(): void {
    if (!this.#isComplete) return;
    this.metrics.lastQueued = Date.now();
    this.#waitingSince ??= performance.now();
    this.#runner.request();
  }

  #repair(): void {
    if (!this.#isComplete) return;
    const { mode, log } = this.#options;
    this.metrics.repairs += 1;
    log.warn('somebody changed the rules; writing them anew', { mode: mode.name });
    mode.forget();
    this.#isFull = true;
    this.#request();
  }

  async #inspect(): Promise<void> {
    const again = this.#refusals.due(performance.now());
    if (again.length > 0) {
      this.tracker.touch(again);
      this.#request();
    }
    try {
      if (!(await this.#check())) this.#repair();
    } catch (error) {
      this.#options.log.warn('the rules could not be checked', { error });
    }
  }

  async #sync(): Promise<void> {
    const { mode, log } = this.#options;
    const { tracker, metrics } = this;
    const began = performance.now();
    this.#writingSince = this.#waitingSince ?? began;
    this.#waitingSince = undefined;
    const taken = tracker.takeChanged();
    const triggers = tracker.takeTriggers();
    this.#followRanges();
    const changed = this.#isFull ? undefined : taken;
    const udp = this.#flows?.snapshot(tracker.state, changed);
    this.#isFull = false;
    this.#isSyncing = true;
    try {
      const report = await mode.sync(tracker.state, changed);
      metrics.sent = report.sent;
      this.#tellRefused(report.failed ?? new Map(), changed);
    } catch (error) {
      this.#isFull = true;
      this.#waitingSince = this.#writingSince;
      metrics.failures += 1;
      throw error;
    } finally {
      this.#writingSince = undefined;
      this.#isSyncing = false;
      this.#syncs += 1;
    }
    const seconds = (performance.now() - began) / 1000;
    this.#measure(seconds, { isFull: changed === undefined, triggers });
    this.#first();
    this.#options.onSynced?.();
    log.debug('rules written', { ports: tracker.state.size, changed: taken.size, seconds });
    if (udp !== undefined) await this.#endFlows(udp);
  }

  /** Others than before make other rules of every service. */
  #followRanges(): void {
    const { serviceCidrs } = this.tracker;
    if (serviceCidrs.join() === this.#serviceCidrs.join()) return;
    this.#serviceCidrs = serviceCidrs;
    this.#options.mode.setServiceCidrs(serviceCidrs);
    this.#isFull = true;
  }

  #measure(seconds: number, of: { readonly isFull: boolean; readonly triggers: readonly number[] }): void {
    const { metrics, tracker } = this;
    metrics.syncSeconds.observe(seconds);
    (of.isFull ? metrics.fullSyncSeconds : metrics.partialSyncSeconds).observe(seconds);
    const now = Date.now();
    for (const trigger of of.triggers) metrics.programmingSeconds.observe(Math.max(0, now - trigger) / 1000);
    metrics.lastSync = now;
    metrics.services = tracker.state.size - this.#refusals.size;
    metrics.refused = this.#refusals.size;
    metrics.pending = 0;
  }

  #tellRefused(failed: ReadonlyMap<string, unknown>, synced: ReadonlySet<string> | undefined): void {
    const { log, informers } = this.#options;
    for (const [key, why] of this.#refusals.after(failed, synced)) {
      log.error('a service port could not be programmed; the others are served', { key, why });
      const service = informers.of(SERVICES).get(key.slice(0, key.indexOf(':')));
      if (service !== undefined) this.#options.refused?.(service, `${key}: ${why}`);
    }
  }

  async #endFlows(written: UdpPorts): Promise<void> {
    try {
      this.metrics.flowsEnded += (await this.#flows?.follow(written, this.#serviceCidrs)) ?? 0;
    } catch (error) {
      this.#options.log.error('stale UDP flows could not be ended; trying again', { error });
      clearTimeout(this.#flowRetry);
      this.#flowRetry = setTimeout(() => this.#request(), FLOW_RETRY_MS).unref();
    }
  }
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
