// The scheduler: takes waiting pods in order, chooses a node for each, binds several at a time.
// Guarantees: choices are made one after the other, each seeing those before it; no pod is given two nodes; none is forgotten.
import type { V1Pod } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import type { Stored } from '../api/object.js';
import { POD_DISRUPTION_BUDGETS } from '../api/resources.js';
import { aborted } from '../base/aborted.js';
import type { Client } from '../client/client.js';
import type { EventRecorder } from '../client/eventRecorder.js';
import type { Informers } from '../client/informer.js';
import { Attempts } from './attempt.js';
import type { Profile } from './choose.js';
import { defaultProfile } from './configuration/profiles.js';
import type { Extender } from './extenders/extender.js';
import { CATALOG_KINDS, openCatalog } from './informerCatalog.js';
import { SchedulerMetrics } from './metrics.js';
import { OptionalKinds } from './optionalKinds.js';
import { Budgets } from './preemption/budgets.js';
import { SchedulerState } from './state.js';
import { WakeSignal } from './wakeSignal.js';
import { Writer } from './writer.js';

export { DEFAULT_SCHEDULER_NAME } from './configuration/profiles.js';

export interface SchedulerOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly log: Log;
  readonly recorder: EventRecorder;
  readonly signal: AbortSignal;
  /** One for each scheduler name; pods that name another are left alone. */
  readonly profiles?: readonly Profile[];
  readonly podInitialBackoffMs?: number;
  readonly podMaxBackoffMs?: number;
  /** How many bindings and reports may be on their way at once. */
  readonly writesInFlight?: number;
  /** How long to wait for the answer to one of them. */
  readonly writeTimeoutMs?: number;
  readonly metrics?: SchedulerMetrics;
  readonly extenders?: readonly Extender[];
  /** For informers that nobody shares: bound pods are held without what no plugin reads. Extenders see whole ones. */
  readonly slimPods?: boolean;
  now?(): number;
  random?(): number;
}

const OPTIONAL_KINDS = [POD_DISRUPTION_BUDGETS, ...CATALOG_KINDS];
/** The longest run of choices before others get their turn of the process. */
const TURN_MS = 8;
const EXPIRY_CHECK_MS = 30_000;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #now: () => number;
  readonly #wakeSignal = new WakeSignal();
  readonly #state: SchedulerState;
  readonly #writer: Writer;
  readonly #attempts: Attempts;
  #kinds: OptionalKinds | undefined;
  /** As last read; forgotten when one of them changes. */
  #budgets: Budgets | undefined;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    const { client, informers, log, recorder, podInitialBackoffMs, podMaxBackoffMs } = options;
    const wake = () => this.#wakeSignal.wake();
    const profiles = options.profiles ?? [defaultProfile()];
    this.#state = new SchedulerState({
      informers,
      now: this.#now,
      wake,
      profiles: new Map(profiles.map((profile) => [profile.schedulerName, profile])),
      slimPods: options.slimPods === true && (options.extenders ?? []).length === 0,
      ...(podInitialBackoffMs === undefined ? {} : { firstBackOffMs: podInitialBackoffMs }),
      ...(podMaxBackoffMs === undefined ? {} : { longestBackOffMs: podMaxBackoffMs }),
    });
    const { writeTimeoutMs = 30_000, metrics = new SchedulerMetrics() } = options;
    metrics.observe(this.#state);
    this.#writer = new Writer({
      signal: options.signal,
      client,
      recorder,
      log,
      state: this.#state,
      writeTimeoutMs,
      metrics,
      now: this.#now,
      wake,
    });
    this.#attempts = new Attempts({
      state: this.#state,
      writer: this.#writer,
      metrics,
      extenders: options.extenders ?? [],
      log,
      budgets: () => {
        this.#budgets ??= new Budgets(this.#kinds?.of(POD_DISRUPTION_BUDGETS)?.list() ?? []);
        return this.#budgets;
      },
      random: options.random ?? Math.random,
    });
  }

  /** Resolves after the signal, when the last write has been answered. */
  async run(): Promise<void> {
    const { informers, signal } = this.#options;
    const wake = () => this.#wakeSignal.wake();
    signal.addEventListener('abort', wake, { once: true });
    const stops = [this.#state.follow()];
    const expiry = setInterval(() => this.#expire(), EXPIRY_CHECK_MS);
    try {
      this.#kinds = await OptionalKinds.discover(this.#options, OPTIONAL_KINDS);
      const { catalog, stop } = openCatalog(this.#kinds, (kind) => this.#state.wake({ kind }));
      this.#state.snapshot.catalog = catalog;
      stops.push(stop, this.#followBudgets());
      // Choosing before every bound pod is known would fill nodes that are full.
      await Promise.race([informers.synced(), aborted(signal)]);
      while (!signal.aborted) await this.#turn();
    } finally {
      clearInterval(expiry);
      for (const stop of stops) stop();
      signal.removeEventListener('abort', wake);
      await this.#writer.settled();
    }
  }

  /** Choices until there is nothing to choose, or others should have a turn. */
  async #turn(): Promise<void> {
    const { writesInFlight = 128, signal } = this.#options;
    const end = performance.now() + TURN_MS;
    while (!signal.aborted) {
      const isFull = this.#writer.inFlight >= writesInFlight;
      const key = isFull ? undefined : this.#state.queue.take();
      if (key === undefined) return this.#wakeSignal.wait(isFull ? undefined : this.#state.queue.nextDueMs());
      const waiting = this.#attempts.schedule(key);
      if (waiting !== undefined) await waiting;
      if (performance.now() >= end) return new Promise((resolve) => setImmediate(resolve));
    }
  }

  #followBudgets(): () => void {
    const forget = () => {
      this.#budgets = undefined;
    };
    const informer = this.#kinds?.of(POD_DISRUPTION_BUDGETS);
    return informer?.on({ added: forget, updated: forget, deleted: forget }) ?? forget;
  }

  #expire(): void {
    for (const key of this.#state.snapshot.expire(this.#now())) {
      this.#options.log.warn('a bound pod was never seen bound', { pod: key });
      const pod: Stored<V1Pod> | undefined = this.#state.waiting(key);
      if (pod !== undefined) this.#state.queue.add({ key, priority: pod.spec.priority ?? 0 });
    }
    this.#wakeSignal.wake();
  }
}
