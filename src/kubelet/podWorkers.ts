// One worker per pod: one sync at a time, the newest spec is used, and a pod that ends never starts again.
// Guarantees: a pod that hangs delays no other; sync, terminating, terminated are passed in this order and once; one that
// its source takes away and gives back begins anew after its end.
import type { Log } from '../api/log.js';
import { backOffMs } from '../base/backOff.js';
import { LONGEST_TIMER_MS } from '../base/deadline.js';
import { messageOf } from '../base/errorMessage.js';
import { isStatic } from './names.js';
import type { Pod } from './ports.js';

/** Why a pod ends before its time: becomes status.reason and status.message. */
export interface PodFailure {
  readonly reason: string;
  readonly message: string;
  /** The kubelet ends it for the node's sake: its condition DisruptionTarget says so. */
  readonly isDisruption?: boolean;
  /** What that condition says, where it is not `message`. */
  readonly disruptionMessage?: string;
}

export interface SyncOutcome {
  /** Every container has ended for good. */
  readonly terminal: boolean;
  /** Look again no later than this. */
  readonly resyncAfterMs?: number | undefined;
  readonly failure?: PodFailure | undefined;
}

export interface PodTermination {
  readonly graceSeconds: number | undefined;
  readonly failure: PodFailure | undefined;
  readonly signal: AbortSignal;
}

/** What a worker does; each step is repeated until it does not throw. `pod` is undefined for orphans of the runtime. */
export interface PodSync {
  sync(pod: Pod, signal: AbortSignal): Promise<SyncOutcome>;
  terminating(uid: string, pod: Pod | undefined, termination: PodTermination): Promise<void>;
  /** Something has changed for a pod whose containers are being stopped: its status may say so before they have ended. */
  retell(pod: Pod): void;
  terminated(uid: string, pod: Pod | undefined, failure: PodFailure | undefined): Promise<void>;
  /** Removes every trace of a pod that has ended, so that another of its uid can begin. */
  erase(uid: string): Promise<void>;
}

type Phase = 'sync' | 'terminating' | 'terminated' | 'erasing' | 'finished';

interface Worker {
  readonly uid: string;
  pod: Pod | undefined;
  phase: Phase;
  graceSeconds: number | undefined;
  failure: PodFailure | undefined;
  /** No source has the pod any more. */
  isRemoved: boolean;
  /** What a source gave back meanwhile under the same uid: that of a static pod is the hash of its manifest. */
  successor: Pod | undefined;
  wanted: boolean;
  running: boolean;
  failures: number;
  abort: AbortController;
  timer: NodeJS.Timeout | undefined;
}

const RETRY = { firstMs: 500, longestMs: 10_000 };

export class PodWorkers {
  readonly #work: PodSync;
  readonly #options: { readonly log: Log; readonly resyncMs: number };

  readonly #workers = new Map<string, Worker>();
  #stopped = false;

  constructor(work: PodSync, options: { readonly log: Log; readonly resyncMs: number }) {
    this.#work = work;
    this.#options = options;
  }

  /** A pod that is to run, in its newest form. Starts its end when it is marked for deletion. */
  update(pod: Pod): void {
    const worker = this.#workers.get(pod.metadata.uid) ?? this.#begin(pod.metadata.uid, pod);
    if (worker.isRemoved && pod.metadata.deletionTimestamp === undefined) {
      worker.successor = pod;
      if (worker.phase === 'finished') worker.phase = 'erasing';
      this.wake(worker.uid);
      return;
    }
    worker.pod = pod;
    if (pod.metadata.deletionTimestamp !== undefined)
      this.terminate(pod.metadata.uid, { graceSeconds: pod.metadata.deletionGracePeriodSeconds });
    this.wake(pod.metadata.uid);
  }

  /** Ends a pod: deleted, evicted, over its deadline, no longer in any source, or never in one. */
  terminate(
    uid: string,
    {
      graceSeconds,
      failure,
      isRemoved = false,
    }: {
      readonly graceSeconds?: number | undefined;
      readonly failure?: PodFailure;
      /** No source has it. */
      readonly isRemoved?: boolean;
    } = {},
  ): void {
    const worker = this.#workers.get(uid) ?? this.#begin(uid, undefined);
    if (isRemoved) {
      worker.isRemoved = true;
      worker.successor = undefined;
    }
    const shorter =
      graceSeconds !== undefined && (worker.graceSeconds === undefined || graceSeconds < worker.graceSeconds);
    if (worker.phase === 'sync') worker.failure = failure;
    if (worker.phase !== 'sync' && !(worker.phase === 'terminating' && shorter)) return;
    worker.phase = 'terminating';
    if (shorter) worker.graceSeconds = graceSeconds;
    worker.failures = 0;
    // What waits for a pull or for a longer grace period is overtaken.
    worker.abort.abort(new Error('the pod is ending'));
    this.wake(uid);
  }

  /** Something may have changed for this pod. */
  wake(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker === undefined || worker.phase === 'finished' || this.#stopped) return;
    worker.wanted = true;
    clearTimeout(worker.timer);
    if (!worker.running) void this.#run(worker);
    else if (worker.phase === 'terminating' && worker.pod !== undefined) this.#work.retell(worker.pod);
  }

  /** Forgets workers whose pods are gone from every source; ends those that still run. */
  retain(isWanted: (uid: string) => boolean): void {
    for (const worker of [...this.#workers.values()]) {
      if (isWanted(worker.uid)) continue;
      if (worker.phase === 'finished') this.#workers.delete(worker.uid);
      else this.terminate(worker.uid, { isRemoved: true });
    }
  }

  knows(uid: string): boolean {
    return this.#workers.has(uid);
  }

  /** Its worker is at work, and looks at what the runtime has of the pod when that is done. */
  isBusy(uid: string): boolean {
    return this.#workers.get(uid)?.running === true;
  }

  phaseOf(uid: string): Phase | undefined {
    return this.#workers.get(uid)?.phase;
  }

  /** Its containers are gone and its volumes clean. */
  isFinished(uid: string): boolean {
    return this.#workers.get(uid)?.phase === 'finished';
  }

  /** Its containers are gone, or never were begun. */
  isStopped(uid: string): boolean {
    const phase = this.#workers.get(uid)?.phase;
    return phase !== 'sync' && phase !== 'terminating';
  }

  /** Lets what is under way end by itself; containers go on running. */
  stop(): void {
    this.#stopped = true;
    for (const worker of this.#workers.values()) {
      clearTimeout(worker.timer);
      worker.abort.abort(new Error('the kubelet stops'));
    }
  }

  #begin(uid: string, pod: Pod | undefined): Worker {
    const worker: Worker = {
      uid,
      pod,
      phase: 'sync',
      graceSeconds: undefined,
      failure: undefined,
      isRemoved: false,
      successor: undefined,
      wanted: false,
      running: false,
      failures: 0,
      abort: new AbortController(),
      timer: undefined,
    };
    this.#workers.set(uid, worker);
    return worker;
  }

  async #run(worker: Worker): Promise<void> {
    worker.running = true;
    let delayMs: number | undefined;
    while (worker.wanted && !this.#stopped && worker.phase !== 'finished') {
      worker.wanted = false;
      delayMs = await this.#step(worker);
    }
    worker.running = false;
    if (delayMs === undefined || this.#stopped || worker.phase === 'finished') return;
    worker.timer = setTimeout(() => this.wake(worker.uid), Math.min(delayMs, LONGEST_TIMER_MS));
  }

  /** One piece of work; answers when to look again. */
  async #step(worker: Worker): Promise<number | undefined> {
    if (worker.abort.signal.aborted) worker.abort = new AbortController();
    const { signal } = worker.abort;
    const { uid, phase } = worker;
    try {
      const delayMs = await this.#advance(worker, signal);
      worker.failures = 0;
      return delayMs;
    } catch (error) {
      if (this.#stopped) return undefined;
      if (signal.aborted) return RETRY.firstMs;
      const delayMs = backOffMs(worker.failures++, RETRY);
      this.#options.log.warn('pod sync failed', {
        podUid: uid,
        phase,
        error: messageOf(error),
        retryMs: delayMs,
      });
      return delayMs;
    }
  }

  async #advance(worker: Worker, signal: AbortSignal): Promise<number | undefined> {
    const { uid, pod } = worker;
    if (worker.phase === 'sync') {
      if (pod === undefined || this.#mustWait(worker)) return RETRY.firstMs;
      const outcome = await this.#work.sync(pod, signal);
      // It may have been told to end while it synced: that wish stands.
      if (worker.phase === 'sync' && (outcome.terminal || outcome.failure !== undefined)) {
        worker.failure = outcome.failure;
        worker.phase = 'terminating';
        worker.wanted = true;
      }
      return Math.min(outcome.resyncAfterMs ?? Number.POSITIVE_INFINITY, this.#options.resyncMs);
    }
    if (worker.phase === 'terminating') {
      const { graceSeconds, failure } = worker;
      await this.#work.terminating(uid, pod, { graceSeconds, failure, signal });
      worker.phase = 'terminated';
      worker.wanted = true;
      return undefined;
    }
    if (worker.phase === 'terminated') {
      await this.#work.terminated(uid, worker.pod, worker.failure);
      worker.phase = worker.successor === undefined ? 'finished' : 'erasing';
      worker.wanted = true;
    } else {
      await this.#work.erase(uid);
      worker.phase = 'finished';
      if (worker.successor !== undefined) this.#begin(uid, worker.successor);
    }
    if (worker.phase === 'finished') this.#wakeSuccessors(worker);
    return undefined;
  }

  /** A changed static pod has a new uid but the old name: it waits until its predecessor has ended. */
  #mustWait({ uid, pod }: Worker): boolean {
    if (pod === undefined || !isStatic(pod)) return false;
    return [...this.#workers.values()].some(
      (other) =>
        other.uid !== uid && other.phase !== 'finished' && other.phase !== 'sync' && sameName(other.pod, pod),
    );
  }

  #wakeSuccessors({ uid, pod, successor }: Worker): void {
    if (successor !== undefined) this.wake(uid);
    if (pod === undefined || !isStatic(pod)) return;
    for (const other of this.#workers.values())
      if (other.phase === 'sync' && sameName(other.pod, pod)) this.wake(other.uid);
  }
}

function sameName(one: Pod | undefined, other: Pod): boolean {
  return one?.metadata.name === other.metadata.name && one.metadata.namespace === other.metadata.namespace;
}
