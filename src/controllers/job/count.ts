// The accounts of a Job: which pods have ended, which of them are in the totals, which may now be let go. Pure.
// Guarantees: a pod is counted exactly once: it enters the totals only after its finalizer is seen gone.
import type { V1JobStatus } from '../../api/gen/types.js';
import type { Pod } from '../pods.js';
import { judgeFailure } from './failurePolicy.js';
import { formatIndexes, parseIndexes } from './indexes.js';
import { failuresBefore, indexOf, isFailed, isIndexed, isTracked, type Job } from './pods.js';

export interface Accounts {
  /** The totals with everything that has ended so far. */
  readonly succeeded: number;
  readonly failed: number;
  readonly completedIndexes: ReadonlySet<number>;
  readonly failedIndexes: ReadonlySet<number>;
  /** What the status shall say. */
  readonly status: Pick<
    V1JobStatus,
    'succeeded' | 'failed' | 'completedIndexes' | 'failedIndexes' | 'uncountedTerminatedPods'
  >;
  /** Their finalizers may go once the status is written. */
  readonly release: readonly Pod[];
  /** Ended since the status was written. */
  readonly newlyFailed: readonly Pod[];
  readonly newlySucceeded: readonly Pod[];
  /** Failed, held by their finalizer, and in no total: a policy ignores them. */
  readonly ignored: readonly Pod[];
  /** Set when a failure policy ends the Job. */
  readonly failJob?: string;
}

interface CountObserved {
  readonly job: Job;
  readonly pods: readonly Pod[];
  /** The Job ends: what is still there is let go, and after a failure counted as failed. */
  readonly ending?: 'failure' | 'success' | undefined;
}

export function countPods(observed: CountObserved): Accounts {
  const count = new Count(observed);
  for (const pod of count.tracked.values()) count.look(pod);
  return count.accounts();
}

class Count {
  readonly #observed: CountObserved;
  readonly #completions: number;
  readonly #isIndexed: boolean;
  readonly tracked: ReadonlyMap<string, Pod>;
  /** In the status, not yet in the totals. */
  readonly #uncounted: { readonly succeeded: string[]; readonly failed: string[] };
  readonly #known: ReadonlySet<string>;
  readonly #completed: Set<number>;
  readonly #failedIndexes: Set<number>;
  readonly #newlyFailed: Pod[] = [];
  readonly #newlySucceeded: Pod[] = [];
  readonly #ignored: Pod[] = [];
  readonly #released: Pod[] = [];
  #failJob: string | undefined;

  constructor(observed: CountObserved) {
    const { job, pods } = observed;
    this.#observed = observed;
    this.#completions = job.spec.completions ?? 0;
    this.#isIndexed = isIndexed(job);
    this.tracked = new Map(pods.filter(isTracked).map((pod) => [pod.metadata.uid, pod]));
    const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
    const pending = (uids: readonly string[]) => uids.filter((uid) => this.tracked.has(uid));
    this.#uncounted = { succeeded: pending(succeeded), failed: pending(failed) };
    this.#known = new Set([...this.#uncounted.succeeded, ...this.#uncounted.failed]);
    this.#completed = parseIndexes(job.status?.completedIndexes, this.#completions);
    this.#failedIndexes = parseIndexes(job.status?.failedIndexes, this.#completions);
  }

  look(pod: Pod): void {
    const { job, ending } = this.#observed;
    if (this.#known.has(pod.metadata.uid)) {
      this.#released.push(pod);
      return;
    }
    const index = this.#isIndexed ? indexOf(pod, this.#completions) : undefined;
    if (pod.status?.phase === 'Succeeded') this.#succeed(pod, index);
    else if (isFailed(job, pod) || ending !== undefined) this.#fail(pod, index);
  }

  #succeed(pod: Pod, index: number | undefined): void {
    this.#released.push(pod);
    // A second success of an index, or one of an index that was scaled away, is nothing.
    if (this.#isIndexed && (index === undefined || this.#completed.has(index))) return;
    this.#newlySucceeded.push(pod);
    if (index !== undefined) this.#completed.add(index);
    else this.#uncounted.succeeded.push(pod.metadata.uid);
  }

  #fail(pod: Pod, index: number | undefined): void {
    const { job, ending } = this.#observed;
    this.#released.push(pod);
    if (ending === 'success' && !isFailed(job, pod)) return;
    const verdict = judgeFailure(job, pod);
    if (verdict.action === 'FailJob') this.#failJob ??= verdict.message;
    if (index !== undefined && isFailed(job, pod) && failsIndex(job, pod, verdict.action))
      this.#failedIndexes.add(index);
    if (this.#isIndexed && index === undefined) return;
    if (verdict.action === 'Ignore') {
      this.#ignored.push(pod);
      return;
    }
    this.#newlyFailed.push(pod);
    this.#uncounted.failed.push(pod.metadata.uid);
  }

  accounts(): Accounts {
    const uncounted = this.#uncounted;
    for (const index of this.#completed) this.#failedIndexes.delete(index);
    const { succeeded, failed } = this.#totals();
    return {
      succeeded: succeeded + (this.#isIndexed ? 0 : uncounted.succeeded.length),
      failed: failed + uncounted.failed.length,
      completedIndexes: this.#completed,
      failedIndexes: this.#failedIndexes,
      release: this.#released.filter((pod) => !this.#mustStay(pod)),
      newlyFailed: this.#newlyFailed,
      newlySucceeded: this.#newlySucceeded,
      ignored: this.#ignored,
      status: {
        succeeded,
        failed,
        ...this.#indexes(),
        uncountedTerminatedPods: {
          ...(uncounted.succeeded.length === 0 ? {} : { succeeded: uncounted.succeeded }),
          ...(uncounted.failed.length === 0 ? {} : { failed: uncounted.failed }),
        },
      },
      ...(this.#failJob === undefined ? {} : { failJob: this.#failJob }),
    };
  }

  /** Those that were counted, with those whose finalizers have gone since. */
  #totals() {
    const { status } = this.#observed.job;
    const before = status?.uncountedTerminatedPods;
    const total = (uids: readonly string[] = [], count = 0) =>
      count + uids.filter((uid) => !this.tracked.has(uid)).length;
    return {
      succeeded: this.#isIndexed ? this.#completed.size : total(before?.succeeded, status?.succeeded),
      failed: total(before?.failed, status?.failed),
    };
  }

  #indexes(): Pick<V1JobStatus, 'completedIndexes' | 'failedIndexes'> {
    const hasCompleted = this.#isIndexed && this.#completed.size > 0;
    return {
      ...(hasCompleted ? { completedIndexes: formatIndexes(this.#completed) } : {}),
      ...(this.#isPerIndex ? { failedIndexes: formatIndexes(this.#failedIndexes) } : {}),
    };
  }

  get #isPerIndex(): boolean {
    return this.#observed.job.spec.backoffLimitPerIndex !== undefined;
  }

  /** The last failed pod of an index knows how often it has failed; it stays until another has taken that over. */
  #mustStay(pod: Pod): boolean {
    const { pods, ending } = this.#observed;
    if (!this.#isPerIndex || ending !== undefined || pod.status?.phase === 'Succeeded') return false;
    const index = indexOf(pod, this.#completions);
    if (index === undefined || this.#completed.has(index) || this.#failedIndexes.has(index)) return false;
    return lastOfIndex(pods, index, this.#completions) === pod;
  }
}

function failsIndex({ spec }: Job, pod: Pod, action: string): boolean {
  if (spec.backoffLimitPerIndex === undefined) return false;
  if (action === 'FailIndex') return true;
  return action !== 'Ignore' && failuresBefore(pod).counted >= spec.backoffLimitPerIndex;
}

/** The pod of the index that has seen the most failures, which is the newest. */
export function lastOfIndex(pods: readonly Pod[], index: number, completions: number): Pod | undefined {
  const rank = (pod: Pod) => {
    const { counted, ignored } = failuresBefore(pod);
    return counted + ignored;
  };
  let last: Pod | undefined;
  for (const pod of pods) {
    if (!isTracked(pod) || indexOf(pod, completions) !== index) continue;
    if (last === undefined || rank(pod) > rank(last)) last = pod;
  }
  return last;
}
