// What a Job does next and what its status says: the whole decision in one value. Pure.
// Guarantees: pods are let go only after the status that counts them; an ended Job makes nothing more.
import type { V1JobCondition, V1JobStatus, V1Pod } from '../../api/gen/types.js';
import type { ControllerEvent } from '../controller.js';
import { isActive, isFinished, isReady, isTerminating, type Pod, stampOf } from '../pods.js';
import { type Accounts, countPods } from './count.js';
import {
  deadlineAt,
  decideOutcome,
  finalCondition,
  interimCondition,
  isDone,
  type Target,
  withCondition,
  writtenTarget,
} from './outcome.js';
import { isSuspended, isTracked, type Job } from './pods.js';
import { nextRetry, planWorkers, type Retry, type WorkersPlan } from './workers.js';

interface JobObserved {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly retry: Retry;
  readonly now: number;
  /** False while the cache does not show the last actions: then nothing is made or removed. */
  readonly mayAct: boolean;
}

export interface JobPlan {
  readonly create: readonly V1Pod[];
  /** Deleted without being counted: the finalizer goes first. */
  readonly remove: readonly Pod[];
  /** Deleted because the Job ends. */
  readonly end: readonly Pod[];
  readonly status: V1JobStatus;
  /** Their finalizers go when the status is written. */
  readonly release: readonly Pod[];
  readonly events: readonly ControllerEvent[];
  readonly retry: Retry;
  readonly againMs?: number;
}

export function planJob(observed: JobObserved): JobPlan {
  const { job, pods, now, mayAct } = observed;
  if (isDone(job) || job.metadata.deletionTimestamp !== undefined) return planOver(observed);
  const running = countPods({ job, pods });
  const target =
    writtenTarget(job) ?? decideOutcome({ job: asStarted(job, now), pods, accounts: running, now });
  const accounts = target === undefined ? running : countPods({ job, pods, ending: target.ends });
  const retry = nextRetry(observed.retry, accounts, now);
  const workers: WorkersPlan =
    target === undefined && mayAct
      ? planWorkers({ job, pods, accounts, retry, now })
      : { create: [], remove: [] };
  const end = target === undefined ? [] : pods.filter(isActive);
  const events: ControllerEvent[] = [];
  const status = statusOf(observed, { accounts, target, workers, end, events });
  const deadline = deadlineAt({ ...job, status });
  const waits = [workers.againMs, deadline === undefined ? undefined : Math.max(1, deadline - now)].filter(
    (wait) => wait !== undefined,
  );
  return {
    create: workers.create,
    remove: workers.remove,
    end,
    status,
    release: accounts.release,
    events,
    retry,
    ...(waits.length === 0 || target !== undefined ? {} : { againMs: Math.min(...waits) }),
  };
}

/** Nothing is left to decide; pods must only not be held back. */
function planOver({ job, pods, retry }: JobObserved): JobPlan {
  const end = isDone(job) ? pods.filter(isActive) : [];
  const release = pods.filter(isTracked);
  return { create: [], remove: [], end, status: job.status, release, events: [], retry };
}

interface Decided {
  readonly accounts: Accounts;
  readonly target: Target | undefined;
  readonly workers: WorkersPlan;
  readonly end: readonly Pod[];
  /** Filled. */
  readonly events: ControllerEvent[];
}

function statusOf({ job, pods, now }: JobObserved, decided: Decided): V1JobStatus {
  const { accounts, target, workers, end } = decided;
  const going = new Set([...workers.remove, ...end]);
  const active = pods.filter((pod) => isActive(pod) && !going.has(pod));
  const terminating = pods.filter((pod) => (isTerminating(pod) || going.has(pod)) && !isFinished(pod));
  const { uncounted, conditions } = conclude({ job, pods, now }, decided);
  const isFinal = conditions !== undefined && target !== undefined;
  const startTime = startTimeOf(job, now);
  return {
    ...(startTime === undefined ? {} : { startTime }),
    ...(isFinal && target.ends === 'success' ? { completionTime: stampOf(now) } : {}),
    active: active.length,
    ready: active.filter(isReady).length,
    terminating: terminating.length,
    ...accounts.status,
    uncountedTerminatedPods: uncounted,
    conditions: conditions ?? conditionsOf({ job, now }, decided),
  };
}

function conclude(
  { job, pods, now }: Pick<JobObserved, 'job' | 'pods' | 'now'>,
  decided: Decided,
): {
  uncounted: NonNullable<V1JobStatus['uncountedTerminatedPods']>;
  conditions?: readonly V1JobCondition[];
} {
  const { accounts, target, events } = decided;
  const uncounted = accounts.status.uncountedTerminatedPods ?? {};
  const isCounted = (uncounted.succeeded ?? []).length + (uncounted.failed ?? []).length === 0;
  if (target === undefined || !isCounted || pods.some((pod) => !isFinished(pod))) return { uncounted };
  events.push(
    target.ends === 'success'
      ? { type: 'Normal', reason: 'Completed', message: 'Job completed' }
      : { type: 'Warning', reason: target.reason, message: target.message },
  );
  const interim = conditionsOf({ job, now }, decided);
  return { uncounted, conditions: withCondition(interim, finalCondition(target), now) };
}

function conditionsOf(
  { job, now }: Pick<JobObserved, 'job' | 'now'>,
  { target, events }: Decided,
): readonly V1JobCondition[] {
  const present = suspensionOf({ job, now }, events);
  return target === undefined ? present : withCondition(present, interimCondition(target), now);
}

function suspensionOf(
  { job, now }: Pick<JobObserved, 'job' | 'now'>,
  events: ControllerEvent[],
): readonly V1JobCondition[] {
  const present = job.status?.conditions ?? [];
  const before = present.find(({ type }) => type === 'Suspended')?.status === 'True';
  const suspended = isSuspended(job);
  if (before === suspended) return present;
  const [reason, message] = suspended
    ? (['JobSuspended', 'Job suspended'] as const)
    : (['JobResumed', 'Job resumed'] as const);
  events.push({ type: 'Normal', reason: suspended ? 'Suspended' : 'Resumed', message });
  return withCondition(
    present,
    { type: 'Suspended', status: suspended ? 'True' : 'False', reason, message },
    now,
  );
}

/** The Job with the start that its status is about to tell. */
function asStarted(job: Job, now: number): Job {
  const startTime = startTimeOf(job, now);
  const { startTime: _, ...status } = job.status ?? {};
  return { ...job, status: startTime === undefined ? status : { ...status, startTime } };
}

/** A Job that was suspended starts anew when it is resumed: its deadline counts from there. */
function startTimeOf(job: Job, now: number): string | undefined {
  const { startTime, conditions } = job.status ?? {};
  if (isSuspended(job)) return startTime;
  const wasSuspended = (conditions ?? []).some(
    ({ type, status }) => type === 'Suspended' && status === 'True',
  );
  return wasSuspended || startTime === undefined ? stampOf(now) : startTime;
}
