// How many pods a Job runs now, which are too many, which indexes come next. Pure.
// Guarantees: never more at once than parallelism, nor more than are still to be done; one pod an index.
import type { V1Pod } from '../../api/gen/types.js';
import { backOffMs } from '../../base/backOff.js';
import { isActive, isFinished, isTerminating, type Pod } from '../pods.js';
import { rankForDeletion } from '../replicaSet/rank.js';
import { type Accounts, lastOfIndex } from './count.js';
import { judgeFailure } from './failurePolicy.js';
import { endOf, failuresBefore, indexOf, isIndexed, isSuspended, type Job, jobPod } from './pods.js';

const BURST = 500;
const RETRY = { firstMs: 10_000, longestMs: 600_000 };

/** Failures one after the other, and when the last one was. */
export interface Retry {
  readonly failures: number;
  readonly lastMs: number;
  /** Uids of ignored failures that are in the count already, as long as their pods are held: no status remembers them. */
  readonly ignored: ReadonlySet<string>;
}

export const NO_RETRY: Retry = { failures: 0, lastMs: 0, ignored: new Set() };

interface WorkersObserved {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly accounts: Accounts;
  readonly retry: Retry;
  readonly now: number;
}

export interface WorkersPlan {
  readonly create: readonly V1Pod[];
  /** Not needed any more: they go without being counted as failures. */
  readonly remove: readonly Pod[];
  readonly againMs?: number;
}

export function planWorkers(observed: WorkersObserved): WorkersPlan {
  const { job, pods, accounts, retry, now } = observed;
  const active = pods.filter(isActive);
  const surplus = surplusOf(observed, active);
  const left = active.length - surplus.length;
  const wanted = wantedActive(job, accounts, active.length);
  if (left > wanted) {
    const rest = active.filter((pod) => !surplus.includes(pod));
    const ranked = rankForDeletion(rest, { now, podsOnNode: () => 0 });
    return { create: [], remove: [...surplus, ...ranked.slice(0, left - wanted)].slice(0, BURST) };
  }
  if (surplus.length > 0 || isSuspended(job)) return { create: [], remove: surplus };
  // With this policy a pod that is still ending holds its place.
  const ending =
    job.spec.podReplacementPolicy === 'Failed'
      ? pods.filter((pod) => isTerminating(pod) && !isFinished(pod)).length
      : 0;
  const missing = Math.min(wanted - left - ending, BURST);
  if (missing <= 0) return { create: [], remove: [] };
  if (job.spec.backoffLimitPerIndex === undefined) {
    const wait = retryInMs(retry, now);
    if (wait > 0) return { create: [], remove: [], againMs: wait };
  }
  if (!isIndexed(job)) return { create: new Array<V1Pod>(missing).fill(jobPod(job)), remove: [] };
  return { remove: [], ...nextIndexes(observed, missing) };
}

function wantedActive(job: Job, { succeeded, failedIndexes }: Accounts, active: number): number {
  if (isSuspended(job)) return 0;
  const { completions, parallelism = 1 } = job.spec;
  // A work queue: after the first success no more are begun.
  if (completions === undefined) return succeeded > 0 ? Math.min(active, parallelism) : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded - failedIndexes.size));
}

/** Of an index that is over or done, or a second one of its index. */
function surplusOf({ job, accounts, now }: WorkersObserved, active: readonly Pod[]): readonly Pod[] {
  if (!isIndexed(job)) return [];
  const completions = job.spec.completions ?? 0;
  const seen = new Set<number>();
  const surplus: Pod[] = [];
  // The most useful last, so that it is the one that is kept.
  for (const pod of rankForDeletion(active, { now, podsOnNode: () => 0 }).reverse()) {
    const index = indexOf(pod, completions);
    if (index === undefined || seen.has(index) || accounts.completedIndexes.has(index)) surplus.push(pod);
    else seen.add(index);
  }
  return surplus;
}

export function retryInMs({ failures, lastMs }: Pick<Retry, 'failures' | 'lastMs'>, now: number): number {
  if (failures === 0) return 0;
  return Math.max(0, lastMs + backOffMs(failures - 1, RETRY) - now);
}

/** The record after these ends. An ignored failure is none for the Job, but its successor waits like any other. */
export function nextRetry(retry: Retry, accounts: Accounts, now: number): Retry {
  const ignored = accounts.ignored.filter(({ metadata }) => !retry.ignored.has(metadata.uid));
  const ends = [
    ...[...accounts.newlyFailed, ...ignored].map((pod) => ({ at: endOf(pod, now), failed: true })),
    ...accounts.newlySucceeded.map((pod) => ({ at: endOf(pod, now), failed: false })),
  ].sort((a, b) => a.at - b.at);
  const counted = ends.reduce<Pick<Retry, 'failures' | 'lastMs'>>(
    ({ failures, lastMs }, { at, failed }) =>
      failed ? { failures: failures + 1, lastMs: Math.max(lastMs, at) } : NO_RETRY,
    retry,
  );
  return { ...counted, ignored: new Set(accounts.ignored.map(({ metadata }) => metadata.uid)) };
}

function nextIndexes(
  { job, pods, accounts, now }: WorkersObserved,
  count: number,
): Pick<WorkersPlan, 'create' | 'againMs'> {
  const completions = job.spec.completions ?? 0;
  const perIndex = job.spec.backoffLimitPerIndex !== undefined;
  const busy = new Set<number | undefined>();
  for (const pod of pods)
    if (
      isActive(pod) ||
      (job.spec.podReplacementPolicy === 'Failed' && isTerminating(pod) && !isFinished(pod))
    )
      busy.add(indexOf(pod, completions));
  const create: V1Pod[] = [];
  const waits: number[] = [];
  for (let index = 0; index < completions && create.length < count; index++) {
    if (busy.has(index) || accounts.completedIndexes.has(index) || accounts.failedIndexes.has(index))
      continue;
    if (!perIndex) {
      create.push(jobPod(job, { index }));
      continue;
    }
    const last = lastOfIndex(pods, index, completions);
    const failures = last === undefined ? { counted: 0, ignored: 0 } : failuresAfter(job, last);
    const record = {
      failures: failures.counted + failures.ignored,
      lastMs: last === undefined ? 0 : endOf(last, now),
    };
    const wait = retryInMs(record, now);
    if (wait > 0) waits.push(wait);
    else create.push(jobPod(job, { index, failures }));
  }
  return { create, ...(waits.length === 0 ? {} : { againMs: Math.min(...waits) }) };
}

function failuresAfter(job: Job, pod: Pod) {
  const { counted, ignored } = failuresBefore(pod);
  return judgeFailure(job, pod).action === 'Ignore'
    ? { counted, ignored: ignored + 1 }
    : { counted: counted + 1, ignored };
}
