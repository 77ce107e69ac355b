// The kubelet's main loop: takes the sources' changes in order and passes each pod to its worker.
// Guarantees: nothing here waits; a pod that is refused gets its status and is never begun, and one that runs already is
// ended first; a critical pod that finds no room gets it.
import { qosClassOf } from '../api/kinds/pod/qos.js';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import { type NodeFacts, refusalOf, shortage, shortages } from './admission.js';
import type { EventSink } from './events.js';
import { isCritical } from './eviction/rank.js';
import type { Housekeeping } from './housekeeping.js';
import type { MirrorPods } from './mirrorPods.js';
import { isMirror, podText } from './names.js';
import type { PodManager } from './podManager.js';
import type { PodFailure, PodWorkers } from './podWorkers.js';
import type { Pod } from './ports.js';
import { podsToPreempt } from './preemption.js';
import type { Allocations } from './resize/allocations.js';
import { summaryOf } from './resize/amounts.js';
import type { PodUpdate } from './sources/podConfig.js';
import type { StatusManager } from './status/statusManager.js';
import { apiTime } from './status/time.js';

export interface SyncLoopOptions {
  readonly pods: PodManager;
  readonly workers: PodWorkers;
  readonly statuses: StatusManager;
  readonly allocations: Allocations;
  readonly mirrors: MirrorPods | undefined;
  readonly events: EventSink;
  readonly log: Log;
  readonly node: () => NodeFacts;
  readonly now: () => number;
  readonly housekeeping: Housekeeping;
  readonly periodMs: number;
  readonly sourcesReady: () => boolean;
  /** Reads labels and taints of the node anew. */
  readonly readNode: () => Promise<void>;
  /** Something of this pod runs. */
  readonly isAlive: (uid: string) => boolean;
}

/** Reasons of refusals that another state of the node would take away. */
const OF_THE_NODE = new Set(['NodeAffinity', 'TaintToleration']);

const PREEMPTED: PodFailure = {
  reason: 'Preempting',
  message: 'Preempted in order to admit critical pod',
  isDisruption: true,
  disruptionMessage: 'Pod was preempted by Kubelet to accommodate a critical pod.',
};

export class SyncLoop {
  readonly #options: SyncLoopOptions;

  readonly #refused = new Set<string>();
  /** Whether they are taken is known when the node has been read anew. */
  readonly #asking = new Set<string>();
  /** They end, and what they hold belongs to another. */
  readonly #preempted = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#keepHouse(), this.#options.periodMs);
    this.#keepHouse();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  take({ op, pods }: PodUpdate): void {
    // The oldest first: it was admitted first, and stays so after a restart.
    const ordered = [...pods].sort((a, b) => bornAt(a) - bornAt(b));
    for (const pod of ordered) {
      if (op === 'REMOVE') this.#remove(pod);
      else if (op === 'RECONCILE') this.#reconcile(pod);
      else this.#put(pod);
    }
    if (ordered.some(isMirror) || op !== 'RECONCILE') this.#mirror();
  }

  #put(pod: Pod, wasAsked = false): void {
    const { pods, workers, statuses } = this.#options;
    const isNew = wasAsked || pods.get(pod.metadata.uid) === undefined;
    pods.set(pod);
    if (this.#asking.has(pod.metadata.uid)) return; // the newest is taken when the node is known
    if (isMirror(pod)) {
      const shown = pods.staticOf(pod);
      if (shown !== undefined) statuses.flush(shown.metadata.uid);
      return;
    }
    if (isNew && pod.metadata.deletionTimestamp === undefined && !hasEnded(pod)) {
      const refusal = this.#admit(pod);
      if (refusal !== undefined && !wasAsked && OF_THE_NODE.has(refusal.reason)) {
        this.#askNode(pod);
        return;
      }
      if (refusal !== undefined && this.#options.isAlive(pod.metadata.uid)) {
        this.#end(pod, refusal);
        return;
      }
      if (refusal !== undefined) this.#refuse(pod, refusal);
    }
    if (this.#refused.has(pod.metadata.uid) && pod.metadata.deletionTimestamp === undefined) return;
    if (isNew) this.#options.allocations.take(pod);
    this.#resize(pod);
    workers.update(this.#options.allocations.of(pod));
    // A pod that has already ended has no more syncs that would tell of its deletion.
    if (workers.isFinished(pod.metadata.uid)) statuses.update(pod);
  }

  /** Grants other resources than the pod has, if the node has them. */
  #resize(pod: Pod): void {
    const { allocations, events, node } = this.#options;
    const before = allocations.pending(pod.metadata.uid);
    const answer = allocations.resize(pod, this.#taken(pod), (one, others) => shortage(one, others, node()));
    if (answer === 'granted') {
      const message = `Pod resize started: ${summaryOf(pod.spec)}`;
      events.event(pod, { type: 'Normal', reason: 'ResizeStarted', message });
    }
    if (typeof answer === 'string' || before?.message === answer.message) return;
    const message = `Pod resize ${answer.reason}: ${answer.message}`;
    events.event(pod, { type: 'Warning', reason: `Resize${answer.reason}`, message });
  }

  /** Others may have left or become smaller. */
  #resizeDeferred(): void {
    const { allocations, pods, workers } = this.#options;
    for (const pod of allocations.deferred((uid) => pods.get(uid))) {
      this.#resize(pod);
      if (allocations.pending(pod.metadata.uid) === undefined) workers.update(allocations.of(pod));
    }
  }

  /** Only the status differs: if it is not the one this kubelet wrote, it is written again. */
  #reconcile(pod: Pod): void {
    const { pods, statuses, workers, allocations } = this.#options;
    pods.set(pod);
    const shown = isMirror(pod) ? pods.staticOf(pod) : pod;
    if (shown !== undefined) statuses.flush(shown.metadata.uid);
    // Others may have opened a gate of the pod's readiness.
    const hasGates = (pod.spec.readinessGates ?? []).length > 0;
    if (hasGates && shown === pod && workers.knows(pod.metadata.uid)) workers.update(allocations.of(pod));
  }

  #remove(pod: Pod): void {
    const { pods, workers } = this.#options;
    pods.remove(pod);
    if (isMirror(pod)) return;
    this.#asking.delete(pod.metadata.uid);
    this.#refused.delete(pod.metadata.uid);
    this.#preempted.delete(pod.metadata.uid);
    this.#options.allocations.forget(pod.metadata.uid);
    // Gone from its source: a forced deletion, or a manifest taken away.
    if (workers.knows(pod.metadata.uid)) workers.terminate(pod.metadata.uid, { isRemoved: true });
  }

  /** Who placed the pod may know of labels and taints that this kubelet has not heard of yet. */
  #askNode({ metadata: { uid } }: Pod): void {
    this.#asking.add(uid);
    const ended = () => {
      const pod = this.#options.pods.get(uid);
      if (this.#asking.delete(uid) && pod !== undefined) this.#put(pod, true);
    };
    this.#options.readNode().then(ended, (error: unknown) => {
      this.#options.log.warn('cannot read the node', { error: messageOf(error) });
      ended();
    });
  }

  /** Why the node does not take the pod. Others may have to go for one that it cannot do without. */
  #admit(pod: Pod): PodFailure | undefined {
    const { workers, events, node, log } = this.#options;
    const others = this.#taken(pod);
    const refusal = refusalOf(pod, others, node());
    const missing = refusal === undefined || !isCritical(pod) ? [] : shortages(pod, others, node());
    // Ports, labels and all else are asked for before: none of them is made free by others.
    if (missing.length === 0 || refusal?.reason !== `OutOf${missing[0]?.name}`) return refusal;
    const victims = podsToPreempt(pod, others, missing);
    for (const victim of victims ?? []) {
      log.info('a pod makes room for a critical one', { pod: podText(victim), critical: podText(pod) });
      const { reason, message } = PREEMPTED;
      events.event(victim, { type: 'Warning', reason, message });
      this.#preempted.add(victim.metadata.uid);
      workers.terminate(victim.metadata.uid, { failure: PREEMPTED });
    }
    return victims === undefined ? refusal : undefined;
  }

  /** It runs since before this kubelet began: it has failed when its containers have ended. */
  #end(pod: Pod, { reason, message }: PodFailure): void {
    const { workers, allocations } = this.#options;
    this.#tellRefusal(pod, { reason, message });
    allocations.take(pod);
    workers.update(allocations.of(pod));
    workers.terminate(pod.metadata.uid, { failure: { reason, message: `Pod was rejected: ${message}` } });
  }

  #tellRefusal(pod: Pod, { reason, message }: PodFailure): void {
    const { events, log } = this.#options;
    log.warn('the node refuses a pod', { pod: pod.metadata.name, reason, message });
    events.event(pod, { type: 'Warning', reason, message });
  }

  #refuse(pod: Pod, refusal: PodFailure): void {
    const { statuses, now } = this.#options;
    const { reason, message } = refusal;
    this.#refused.add(pod.metadata.uid);
    this.#tellRefusal(pod, refusal);
    const { generation } = pod.metadata;
    statuses.set(pod, {
      ...pod.status,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      phase: 'Failed',
      reason,
      message: `Pod was rejected: ${message}`,
      startTime: apiTime(now()),
      qosClass: qosClassOf(pod.spec),
    });
  }

  /** Pods that hold resources of this node. */
  #taken(but: Pod): readonly Pod[] {
    const { pods, statuses, allocations } = this.#options;
    return pods
      .all()
      .map((pod) => allocations.of(pod))
      .filter(
        (pod) =>
          pod.metadata.uid !== but.metadata.uid &&
          !this.#refused.has(pod.metadata.uid) &&
          !this.#preempted.has(pod.metadata.uid) &&
          !hasEnded({ ...pod, status: statuses.get(pod) }),
      );
  }

  #mirror(): void {
    this.#options.mirrors?.reconcile({ sourcesReady: this.#options.sourcesReady() });
  }

  #keepHouse(): void {
    this.#mirror();
    if (!this.#options.sourcesReady()) return;
    this.#resizeDeferred();
    this.#options.housekeeping.round().catch((error: unknown) => {
      this.#options.log.error('housekeeping failed', { error: messageOf(error) });
    });
  }
}

const hasEnded = ({ status }: Pick<Pod, 'status'>) =>
  status.phase === 'Succeeded' || status.phase === 'Failed';
const bornAt = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp) || 0;
