// The scheduler: takes waiting pods in order, chooses a node for each, binds several at a time.
// Guarantees: choices are made one after the other, each seeing those before it; no pod is given two nodes; none is forgotten.
import type { V1Node, V1Pod } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import { keyOf, type Stored } from '../api/object.js';
import { NODES, PODS } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import type { Client } from '../client/client.js';
import { messageOf } from '../client/error.js';
import { type EventRecorder, referenceTo } from '../client/eventRecorder.js';
import type { Informers } from '../client/informer.js';
import { Bell } from './bell.js';
import { bind, type FailureReason, reportFailure } from './binder.js';
import { SchedulerCache } from './cache.js';
import { chooseNode, defaultProfile, type Profile, refusalMessage } from './choose.js';
import { deservesFreshStart, freesItsNode, isWaiting, nodeEvents } from './events.js';
import type { ClusterEvent } from './plugin.js';
import { podInfoOf } from './podInfo.js';
import { SchedulingQueue } from './queue.js';

export const DEFAULT_SCHEDULER_NAME = 'default-scheduler';

export interface SchedulerOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly log: Log;
  readonly recorder: EventRecorder;
  readonly signal: AbortSignal;
  /** Pods that name another scheduler are left alone. */
  readonly schedulerName?: string;
  readonly profile?: Profile;
  /** How many bindings and reports may be on their way at once. */
  readonly writesInFlight?: number;
  now?(): number;
  random?(): number;
}

/** Choices in a row before others get their turn of the process. */
const CHOICES_PER_TURN = 32;

/** Resolves after the signal, when the last write has been answered. */
export async function runScheduler(options: SchedulerOptions): Promise<void> {
  const scheduler = new Scheduler(options);
  await scheduler.run();
}

class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #profile: Profile;
  readonly #name: string;
  readonly #now: () => number;
  readonly #cache = new SchedulerCache();
  readonly #queue: SchedulingQueue;
  readonly #bell = new Bell();
  readonly #writes = new Set<Promise<void>>();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#profile = options.profile ?? defaultProfile;
    this.#name = options.schedulerName ?? DEFAULT_SCHEDULER_NAME;
    this.#now = options.now ?? Date.now;
    const wokenBy = new Map(this.#profile.filters.map((plugin) => [plugin.name, plugin.wokenBy]));
    this.#queue = new SchedulingQueue({ now: this.#now, wokenBy: (plugin) => wokenBy.get(plugin) ?? [] });
  }

  async run(): Promise<void> {
    const { informers, signal, writesInFlight = 64 } = this.#options;
    const ring = () => this.#bell.ring();
    signal.addEventListener('abort', ring, { once: true });
    const stops = [this.#followPods(), this.#followNodes()];
    try {
      // Choosing before every bound pod is known would fill nodes that are full.
      await Promise.race([informers.synced(), aborted(signal)]);
      for (let choices = 1; !signal.aborted; choices += 1) {
        const key = this.#writes.size < writesInFlight ? this.#queue.take() : undefined;
        if (key !== undefined) this.#schedule(key);
        if (key === undefined)
          await this.#bell.wait(this.#writes.size < writesInFlight ? this.#queue.nextDueMs() : undefined);
        else if (choices % CHOICES_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      for (const stop of stops) stop();
      signal.removeEventListener('abort', ring);
      await Promise.all(this.#writes);
    }
  }

  #schedule(key: string): void {
    const pod = this.#waiting(key);
    if (pod === undefined) {
      this.#queue.remove(key);
      return;
    }
    const info = podInfoOf(pod);
    const choice = chooseNode(info, this.#cache.nodes(), this.#profile, this.#options.random ?? Math.random);
    if ('node' in choice) {
      const { name } = choice.node;
      this.#cache.assume(info, name);
      this.#write(() => this.#bind(pod, key, name));
    } else {
      this.#queue.unschedulable(key, choice.refusal.rejectedBy);
      this.#write(() => this.#report(pod, 'Unschedulable', refusalMessage(choice.refusal)));
    }
  }

  #waiting(key: string): Stored<V1Pod> | undefined {
    const pod = this.#options.informers.of(PODS).get(key);
    return pod !== undefined && isWaiting(pod, this.#name) ? pod : undefined;
  }

  async #bind(pod: Stored<V1Pod>, key: string, nodeName: string): Promise<void> {
    const { client, recorder, log } = this.#options;
    try {
      await bind(client, pod, nodeName);
    } catch (error) {
      log.warn('binding failed', { pod: key, node: nodeName, error: messageOf(error) });
      await this.#retractBinding(pod, key, error);
      return;
    }
    if (!this.#isReplaced(pod, key)) this.#queue.remove(key);
    log.debug('pod bound', { pod: key, node: nodeName });
    const message = `Successfully assigned ${key} to ${nodeName}`;
    recorder.event(referenceTo(PODS, pod), 'Normal', 'Scheduled', message);
  }

  async #retractBinding(pod: Stored<V1Pod>, key: string, error: unknown): Promise<void> {
    // The queue and the cache know pods by name: what is there now may be a successor's.
    if (this.#isReplaced(pod, key)) return;
    this.#cache.forget(key);
    this.#queue.wake('pod removed');
    if (ApiError.is(error, 'NotFound') || this.#waiting(key) === undefined) {
      this.#queue.remove(key);
      return;
    }
    this.#queue.backOff(key);
    await this.#report(pod, 'SchedulerError', `binding rejected: ${messageOf(error)}`);
  }

  #isReplaced(pod: Stored<V1Pod>, key: string): boolean {
    const current = this.#options.informers.of(PODS).get(key);
    return current !== undefined && current.metadata.uid !== pod.metadata.uid;
  }

  async #report(pod: Stored<V1Pod>, reason: FailureReason, message: string): Promise<void> {
    const { client, recorder, log } = this.#options;
    recorder.event(referenceTo(PODS, pod), 'Warning', 'FailedScheduling', message);
    try {
      await reportFailure(client, pod, { reason, message, now: this.#now() });
    } catch (error) {
      // The pod may be gone or bound by now; the condition is for people, and the next try writes it again.
      log.debug('condition not written', { pod: keyOf(pod.metadata), error: messageOf(error) });
    }
  }

  /** Runs beside the choices; `work` handles its own failures. */
  #write(work: () => Promise<void>): void {
    const write = work().finally(() => {
      this.#writes.delete(write);
      this.#bell.ring();
    });
    this.#writes.add(write);
  }

  #followPods(): () => void {
    return this.#options.informers.of(PODS).on({
      added: (pod) => this.#seePod(pod),
      updated: (pod, previous) => {
        if (pod.metadata.uid === previous.metadata.uid) {
          this.#seePod(pod, previous);
          return;
        }
        // Deleted and made anew between two looks: the new pod has nothing of the old one.
        this.#losePod(previous);
        this.#seePod(pod);
      },
      deleted: (pod) => this.#losePod(pod),
    });
  }

  #losePod(pod: Stored<V1Pod>): void {
    const key = keyOf(pod.metadata);
    const held = Boolean(pod.spec.nodeName) || this.#cache.isAssumed(key);
    this.#queue.remove(key);
    this.#cache.removePod(key);
    if (held) this.#wake('pod removed');
  }

  #seePod(pod: Stored<V1Pod>, previous?: Stored<V1Pod>): void {
    const key = keyOf(pod.metadata);
    if (pod.spec.nodeName) {
      this.#queue.remove(key);
      this.#cache.setPod(pod);
      if (previous !== undefined && freesItsNode(pod, previous)) this.#wake('pod removed');
    } else if (!isWaiting(pod, this.#name)) this.#queue.remove(key);
    else if (!this.#cache.isAssumed(key)) this.#seeWaiting(pod, key, previous);
  }

  #seeWaiting(pod: Stored<V1Pod>, key: string, previous?: Stored<V1Pod>): void {
    if (previous !== undefined && isWaiting(previous, this.#name) && !deservesFreshStart(pod, previous))
      return;
    this.#queue.add({ key, priority: pod.spec.priority ?? 0 });
    this.#bell.ring();
  }

  #followNodes(): () => void {
    return this.#options.informers.of(NODES).on({
      added: (node) => {
        this.#cache.setNode(node);
        this.#wake('node added');
      },
      updated: (node, previous) => this.#seeNode(node, previous),
      deleted: ({ metadata }) => this.#cache.removeNode(metadata.name),
    });
  }

  #seeNode(node: Stored<V1Node>, previous: Stored<V1Node>): void {
    this.#cache.setNode(node);
    for (const event of nodeEvents(node, previous)) this.#wake(event);
  }

  #wake(event: ClusterEvent): void {
    this.#queue.wake(event);
    this.#bell.ring();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
