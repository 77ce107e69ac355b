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

export function countPods({ job, pods, ending }: CountObserved): Accounts {
  const completions = job.spec.completions ?? 0;
  const indexed = isIndexed(job);
  const tracked = new Map(pods.filter(isTracked).map((pod) => [pod.metadata.uid, pod]));
  const before = job.status?.uncountedTerminatedPods ?? {};
  const done = (uids: readonly string[] | undefined) => (uids ?? []).filter((uid) => !tracked.has(uid));
  const pending = (uids: readonly string[] | undefined) => (uids ?? []).filter((uid) => tracked.has(uid));

  const uncountedSucceeded = pending(before.succeeded);
  const uncountedFailed = pending(before.failed);
  const known = new Set([...uncountedSucceeded, ...uncountedFailed]);
  const completed = parseIndexes(job.status?.completedIndexes, completions);
  const failedIndexes = parseIndexes(job.status?.failedIndexes, completions);
  const newlyFailed: Pod[] = [];
  const newlySucceeded: Pod[] = [];
  const ignored: Pod[] = [];
  const released: Pod[] = [];
  let failJob: string | undefined;

  for (const pod of tracked.values()) {
    if (known.has(pod.metadata.uid)) {
      released.push(pod);
      continue;
    }
    const index = indexed ? indexOf(pod, completions) : undefined;
    if (pod.status?.phase === 'Succeeded') {
      released.push(pod);
      // A second success of an index, or one of an index that was scaled away, is nothing.
      if (indexed && (index === undefined || completed.has(index))) continue;
      newlySucceeded.push(pod);
      if (index !== undefined) completed.add(index);
      else uncountedSucceeded.push(pod.metadata.uid);
    } else if (isFailed(job, pod) || ending !== undefined) {
      released.push(pod);
      if (ending === 'success' && !isFailed(job, pod)) continue;
      const verdict = judgeFailure(job, pod);
      if (verdict.action === 'FailJob') failJob ??= verdict.message;
      if (index !== undefined && isFailed(job, pod) && failsIndex(job, pod, verdict.action))
        failedIndexes.add(index);
      if (indexed && index === undefined) continue;
      if (verdict.action === 'Ignore') {
        ignored.push(pod);
        continue;
      }
      newlyFailed.push(pod);
      uncountedFailed.push(pod.metadata.uid);
    }
  }
  for (const index of completed) failedIndexes.delete(index);

  const total = (uids: readonly string[] | undefined, count = 0) => count + done(uids).length;
  const succeeded = indexed ? completed.size : total(before.succeeded, job.status?.succeeded);
  const failed = total(before.failed, job.status?.failed);
  const perIndex = job.spec.backoffLimitPerIndex !== undefined;
  return {
    succeeded: succeeded + (indexed ? 0 : uncountedSucceeded.length),
    failed: failed + uncountedFailed.length,
    completedIndexes: completed,
    failedIndexes,
    release: released.filter((pod) => !mustStay(pod)),
    newlyFailed,
    newlySucceeded,
    ignored,
    status: {
      succeeded,
      failed,
      ...(indexed && completed.size > 0 ? { completedIndexes: formatIndexes(completed) } : {}),
      ...(perIndex ? { failedIndexes: formatIndexes(failedIndexes) } : {}),
      uncountedTerminatedPods: {
        ...(uncountedSucceeded.length === 0 ? {} : { succeeded: uncountedSucceeded }),
        ...(uncountedFailed.length === 0 ? {} : { failed: uncountedFailed }),
      },
    },
    ...(failJob === undefined ? {} : { failJob }),
  };

  /** The last failed pod of an index knows how often it has failed; it stays until another has taken that over. */
  function mustStay(pod: Pod): boolean {
    if (!perIndex || ending !== undefined || pod.status?.phase === 'Succeeded') return false;
    const index = indexOf(pod, completions);
    if (index === undefined || completed.has(index) || failedIndexes.has(index)) return false;
    return lastOfIndex(pods, index, completions) === pod;
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
