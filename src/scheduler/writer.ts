// What scheduling writes, several at a time: bindings, failures, evictions.
// Guarantees: no write is waited for longer than the limit; a binding that failed gives back what the pod was assumed to take.
import type { V1Pod } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import { keyOf, type Stored } from '../api/object.js';
import { PODS } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from '../client/client.js';
import { type EventRecorder, referenceTo } from '../client/eventRecorder.js';
import { bind, type FailureReason, reportFailure } from './binder.js';
import type { Extender } from './extenders/extender.js';
import type { SchedulerMetrics } from './metrics.js';
import type { VolumePlan } from './plugins/volumeBinding.js';
import type { PodInfo } from './podInfo.js';
import { clearNomination, evict } from './preemption/evict.js';
import type { Victims } from './preemption/victims.js';
import type { SchedulerState } from './state.js';
import { answeredWithin } from './timeLimit.js';
import { bindVolumes } from './volumeBinder.js';

interface WriterOptions {
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly log: Log;
  readonly state: SchedulerState;
  readonly writeTimeoutMs: number;
  readonly metrics: SchedulerMetrics;
  /** Ends what waits for volumes. */
  readonly signal: AbortSignal;
  now(): number;
  /** Called when a write has ended. */
  wake(): void;
}

/** A pod and the node it is to go to. */
interface Chosen {
  readonly pod: Stored<V1Pod>;
  readonly key: string;
  readonly nodeName: string;
  /** When the choice began, by `performance.now()`. */
  readonly started: number;
  /** Who binds in our place. */
  readonly binder?: Extender | undefined;
}

/** How long after its binding was answered a pod may stay unseen. The watch is then far behind, or broke. */
const SEEN_WITHIN_MS = 5 * 60_000;

/** The server has decided against it; after anything else the write may have been done. */
const isRefusal = (error: unknown) => error instanceof ApiError && error.code < 500;

export class Writer {
  readonly #options: WriterOptions;
  readonly #writes = new Set<Promise<void>>();
  readonly #beside = new Set<Promise<void>>();

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#writes.size;
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#writes, ...this.#beside]);
  }

  bind(chosen: Chosen, plan?: VolumePlan): void {
    if (plan === undefined) this.#start(() => this.#bind(chosen));
    else this.#startBeside(() => this.#bindWithVolumes(chosen, plan));
  }

  report(pod: Stored<V1Pod>, reason: FailureReason, message: string, nominatedNodeName?: string): void {
    this.#start(() => this.#report(pod, reason, message, nominatedNodeName));
  }

  /**
   * Sends the victims away, and takes back the nominations that the preemptor overrules. The preemptor says where it waits
   * if there is anything to wait for: victims that are gone at once leave it to the binding to say more.
   */
  preempt(preemptor: PodInfo, nodeName: string, { pods, message }: Victims & { message: string }): void {
    const { state } = this.#options;
    const overruled = state.nominations.on(nodeName).filter(({ priority }) => priority < preemptor.priority);
    for (const { key } of overruled) state.nominations.remove(key);
    for (const { pod } of overruled)
      this.#start(async () => {
        await this.#attempt('nomination not cleared', pod, (client) => clearNomination(client, pod));
      });
    this.#recordFailure(preemptor.pod, message);
    state.preempting.add(preemptor.key);
    this.#start(async () => {
      const told = await Promise.all(pods.map((victim) => this.#evict(preemptor, victim, nodeName)));
      const areLeaving = () => told.every(Boolean) && pods.some((victim) => state.isPlaced(victim));
      // Before the pod can be tried again: a report that came after its binding would deny it.
      if (areLeaving()) await this.#writeFailure(preemptor.pod, 'Unschedulable', message, nodeName);
      state.preempting.delete(preemptor.key);
      // Room that is still being left is waited for: the end of the last victim wakes the pod.
      if (!areLeaving()) state.queue.activate(preemptor.key);
    });
  }

  /** Runs beside the choices; `work` handles its own failures. */
  #start(work: () => Promise<void>): void {
    const write = work().finally(() => {
      this.#writes.delete(write);
      this.#options.wake();
    });
    this.#writes.add(write);
  }

  /** Volumes may take minutes: what waits for them is not one of those in flight. */
  #startBeside(work: () => Promise<void>): void {
    const write = work().finally(() => this.#beside.delete(write));
    this.#beside.add(write);
  }

  async #bindWithVolumes(chosen: Chosen, plan: VolumePlan): Promise<void> {
    const { client, log, state, signal } = this.#options;
    const { snapshot } = state;
    const { key, nodeName } = chosen;
    try {
      await bindVolumes({ client, plan, nodeName, snapshot, signal });
    } catch (error) {
      log.warn('volumes not bound', { pod: key, node: nodeName, error: messageOf(error) });
      await this.#retractBinding(chosen, error);
      return;
    } finally {
      for (const { volume } of plan.bindings) snapshot.reservedVolumes.delete(volume);
    }
    await this.#bind(chosen);
  }

  async #bind(chosen: Chosen): Promise<void> {
    const { client, recorder, log, state, writeTimeoutMs, now } = this.#options;
    const { pod, key, nodeName, binder } = chosen;
    try {
      const binding = binder === undefined ? bind(client, pod, nodeName) : binder.bind(pod, nodeName);
      await answeredWithin(binding, writeTimeoutMs, `the binding of ${key}`);
    } catch (error) {
      log.warn('binding failed', { pod: key, node: nodeName, error: messageOf(error) });
      if (isRefusal(error) || !(await this.#isBound(pod))) await this.#retractBinding(chosen, error);
      return;
    }
    this.#countBound(chosen);
    if (!this.#isReplaced(pod, key)) {
      state.queue.remove(key);
      state.snapshot.expectBy(key, now() + SEEN_WITHIN_MS);
    }
    log.debug('pod bound', { pod: key, node: nodeName });
    const message = `Successfully assigned ${key} to ${nodeName}`;
    recorder.event(referenceTo(PODS, pod), 'Normal', 'Scheduled', message, { action: 'Binding' });
  }

  /** After a binding without a clear answer: whether it was done all the same. */
  async #isBound({ metadata: { name, namespace, uid } }: Stored<V1Pod>): Promise<boolean> {
    const { client, writeTimeoutMs } = this.#options;
    try {
      const seen = await answeredWithin(
        client.of(PODS).get({ name, namespace }),
        writeTimeoutMs,
        `the state of ${name}`,
      );
      return seen.metadata.uid === uid && Boolean(seen.spec.nodeName);
    } catch {
      // Whatever it is, it is not known to be bound; should it be, binding it again is refused.
      return false;
    }
  }

  #countBound({ pod, key, started }: Chosen): void {
    const { metrics, state, now } = this.#options;
    metrics.attempted(schedulerNameOf(pod), 'scheduled', (performance.now() - started) / 1000);
    const { attempts, since } = state.queue.historyOf(key) ?? { attempts: 1, since: now() };
    metrics.bound(attempts, (now() - since) / 1000);
  }

  async #retractBinding({ pod, key, started }: Chosen, error: unknown): Promise<void> {
    const { state, metrics } = this.#options;
    metrics.attempted(schedulerNameOf(pod), 'error', (performance.now() - started) / 1000);
    // The queue and the snapshot know pods by name: what is there now may be a successor's.
    if (this.#isReplaced(pod, key)) return;
    const held = state.snapshot.podOf(key);
    state.snapshot.forget(key);
    if (ApiError.is(error, 'NotFound') || state.waiting(key) === undefined) state.queue.remove(key);
    else state.queue.backOff(key);
    if (held !== undefined) state.wake({ kind: 'pod removed', pod: held });
    if (state.queue.has(key))
      await this.#report(pod, 'SchedulerError', `binding rejected: ${messageOf(error)}`);
  }

  #isReplaced(pod: Stored<V1Pod>, key: string): boolean {
    const current = this.#options.state.pod(key);
    return current !== undefined && current.metadata.uid !== pod.metadata.uid;
  }

  async #report(
    pod: Stored<V1Pod>,
    reason: FailureReason,
    message: string,
    nominatedNodeName?: string,
  ): Promise<void> {
    this.#recordFailure(pod, message);
    await this.#writeFailure(pod, reason, message, nominatedNodeName);
  }

  #recordFailure(pod: Stored<V1Pod>, message: string): void {
    const about = referenceTo(PODS, pod);
    this.#options.recorder.event(about, 'Warning', 'FailedScheduling', message, { action: 'Scheduling' });
  }

  async #writeFailure(
    pod: Stored<V1Pod>,
    reason: FailureReason,
    message: string,
    nominatedNodeName = '',
  ): Promise<void> {
    const { now } = this.#options;
    // The pod may be gone or bound by now; the condition is for people, and the next try writes it again.
    await this.#attempt('condition not written', pod, (client) =>
      reportFailure(client, pod, { reason, message, now: now(), nominatedNodeName }),
    );
  }

  /** Whether the victim was told to go. */
  async #evict(preemptor: PodInfo, victim: PodInfo, nodeName: string): Promise<boolean> {
    const { recorder, now, state } = this.#options;
    const schedulerName = schedulerNameOf(preemptor.pod);
    const done = await this.#attempt('victim not deleted', victim.pod, (client) =>
      evict(victim, { client, schedulerName, now: now() }),
    );
    if (!done) return false;
    state.snapshot.markTerminating(victim.key, victim.pod.metadata.uid);
    const by = `Preempted by pod ${preemptor.pod.metadata.uid} on node ${nodeName}`;
    recorder.event(referenceTo(PODS, victim.pod), 'Normal', 'Preempted', by, {
      action: 'Preempting',
      related: referenceTo(PODS, preemptor.pod),
    });
    return true;
  }

  async #attempt(
    failure: string,
    pod: Stored<V1Pod>,
    write: (client: Client) => Promise<void>,
  ): Promise<boolean> {
    const { client, log, writeTimeoutMs } = this.#options;
    try {
      await answeredWithin(write(client), writeTimeoutMs, 'the write');
      return true;
    } catch (error) {
      log.debug(failure, { pod: keyOf(pod.metadata), error: messageOf(error) });
      return false;
    }
  }
}

function schedulerNameOf({ spec }: Stored<V1Pod>): string {
  return spec.schedulerName || 'default-scheduler';
}
