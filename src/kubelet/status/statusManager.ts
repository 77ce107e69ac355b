// Brings pod statuses to the API: the newest of each pod, in order, until the API has it.
// Guarantees: nothing is written that the API already has; a pod is deleted from the API only when nothing of it is
// left and the API has its last status.
import type { V1PodStatus } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import type { Stored } from '../../api/object.js';
import { PODS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import { backOffMs } from '../../base/backOff.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client } from '../../client/client.js';
import { makeGate } from '../gate.js';
import type { Pod } from '../ports.js';
import { statusPatch } from './statusPatch.js';

interface StatusManagerOptions {
  /** Absent when the kubelet runs alone. */
  readonly client: Client | undefined;
  readonly log: Log;
  /** The pod in the API that shows this pod: itself, or the mirror of a static pod; undefined while there is none. */
  readonly apiPod: (pod: Pod) => Pod | undefined;
  /** Nothing of the pod is left on the node. */
  readonly isFinished: (uid: string) => boolean;
}

interface Entry {
  pod: Pod;
  status: V1PodStatus;
  dirty: boolean;
  sending: boolean;
  failures: number;
  timer: NodeJS.Timeout | undefined;
  /** What the last patch answered: newer than the informer for a moment. */
  answered: Pod | undefined;
}

const RETRY = { firstMs: 200, longestMs: 10_000 };
const WRITES_AT_ONCE = 8;
/** That a pod is being started is told after this long: most often it runs before, and one write tells all. */
const STARTING_MS = 1_000;
const STARTING = new Set(['ContainerCreating', 'PodInitializing']);

/** `previous` is what was known until now: of this kubelet, or of the API. */
type StatusListener = (pod: Pod, status: V1PodStatus, previous: V1PodStatus) => void;

export class StatusManager {
  readonly #options: StatusManagerOptions;

  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<StatusListener>();
  readonly #gate = makeGate(WRITES_AT_ONCE);
  #stopped = false;

  constructor(options: StatusManagerOptions) {
    this.#options = options;
  }

  /** The newest status of the pod: the one on its way, or the API's. */
  get(pod: Pod): V1PodStatus {
    return this.#entries.get(pod.metadata.uid)?.status ?? pod.status;
  }

  known(uid: string): V1PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  set(pod: Pod, status: V1PodStatus): void {
    const entry = this.#entries.get(pod.metadata.uid);
    const previous = this.get(pod);
    if (entry === undefined)
      this.#entries.set(pod.metadata.uid, {
        pod,
        status,
        dirty: true,
        sending: false,
        failures: 0,
        timer: undefined,
        answered: undefined,
      });
    else {
      entry.pod = pod;
      entry.status = status;
      entry.dirty = true;
    }
    for (const listener of this.#listeners) listener(pod, status, previous);
    if (isStarting(status)) this.#flushSoon(pod.metadata.uid);
    else this.flush(pod.metadata.uid);
  }

  /** The pod itself has changed, such as by being marked for deletion. */
  update(pod: Pod): void {
    const entry = this.#entries.get(pod.metadata.uid);
    if (entry === undefined) return;
    entry.pod = pod;
    this.flush(pod.metadata.uid);
  }

  /** Compares with the API again: after a foreign change, a new mirror pod, or when a pod has ended. */
  flush(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined || this.#stopped) return;
    entry.dirty = true;
    clearTimeout(entry.timer);
    entry.timer = undefined;
    if (!entry.sending) void this.#send(uid, entry);
  }

  #flushSoon(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined || this.#stopped || entry.sending) return;
    entry.timer ??= setTimeout(() => this.flush(uid), STARTING_MS);
  }

  uids(): readonly string[] {
    return [...this.#entries.keys()];
  }

  remove(uid: string): void {
    clearTimeout(this.#entries.get(uid)?.timer);
    this.#entries.delete(uid);
  }

  on(listener: StatusListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stop(): void {
    this.#stopped = true;
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
  }

  async #send(uid: string, entry: Entry): Promise<void> {
    const { client, log } = this.#options;
    if (client === undefined) return;
    entry.sending = true;
    while (entry.dirty && !this.#stopped && this.#entries.get(uid) === entry) {
      entry.dirty = false;
      try {
        await this.#gate(() => this.#sendOnce(client, entry));
        entry.failures = 0;
      } catch (error) {
        const delayMs = backOffMs(entry.failures++, RETRY);
        log.warn('cannot write the status of a pod', {
          pod: entry.pod.metadata.name,
          error: messageOf(error),
          retryMs: delayMs,
        });
        if (!this.#stopped) entry.timer = setTimeout(() => this.flush(uid), delayMs);
        break;
      }
    }
    entry.sending = false;
  }

  async #sendOnce(client: Client, entry: Entry): Promise<void> {
    const shown = newer(this.#options.apiPod(entry.pod), entry.answered);
    if (shown === undefined) return;
    const { name, namespace, uid } = shown.metadata;
    const pods = client.of(PODS);
    // Asked before the status is sent: of a pod that ends meanwhile the API must see the last status first.
    const ended =
      entry.pod.metadata.deletionTimestamp !== undefined &&
      this.#options.isFinished(entry.pod.metadata.uid) &&
      uid === entry.pod.metadata.uid;
    try {
      const patch = statusPatch(uid, shown.status, entry.status);
      if (patch !== undefined)
        entry.answered = await pods.patch({ name, namespace }, 'strategic', patch, { subresource: 'status' });
      if (ended) await pods.delete({ name, namespace }, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      // Gone, or another pod of that name: the source tells the rest.
      if (ApiError.is(error, 'NotFound')) return;
      if (ApiError.is(error, 'Conflict', 'Invalid') && (await this.#isReplaced(client, shown))) return;
      throw error;
    }
  }

  async #isReplaced(client: Client, { metadata }: Pod): Promise<boolean> {
    try {
      const { name, namespace } = metadata;
      return (await client.of(PODS).get({ name, namespace })).metadata.uid !== metadata.uid;
    } catch (error) {
      // A node may read no pods but its own: one that is refused is gone, or another node's.
      if (ApiError.is(error, 'NotFound', 'Forbidden')) return true;
      throw error;
    }
  }
}

/** Nothing more is known of the pod than that its containers are being made. */
function isStarting({ phase, initContainerStatuses = [], containerStatuses = [] }: V1PodStatus): boolean {
  const all = [...initContainerStatuses, ...containerStatuses];
  return (
    phase === 'Pending' &&
    all.length > 0 &&
    all.every(({ state }) => STARTING.has(state?.waiting?.reason ?? ''))
  );
}

/** Of the informer's copy and the last answer, the one that the API wrote later. */
function newer(informed: Pod | undefined, answered: Stored<Pod> | undefined): Pod | undefined {
  if (informed === undefined || answered === undefined || informed.metadata.uid !== answered.metadata.uid)
    return informed;
  return Number(answered.metadata.resourceVersion) > Number(informed.metadata.resourceVersion)
    ? answered
    : informed;
}
