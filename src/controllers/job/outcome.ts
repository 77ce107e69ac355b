// Whether a Job has come to its end, and how; and the conditions that say so. Pure.
// Guarantees: a decision once written stands; `Complete` and `Failed` come only when nothing is left running or uncounted.
import type { V1JobCondition } from '../../api/gen/types.js';
import { type Pod, stampOf, timeOf } from '../pods.js';
import type { Accounts } from './count.js';
import { metSuccessRule } from './failurePolicy.js';
import { isIndexed, isSuspended, type Job } from './pods.js';

export interface Target {
  readonly ends: 'failure' | 'success';
  readonly reason: string;
  readonly message: string;
}

const INTERIM = { failure: 'FailureTarget', success: 'SuccessCriteriaMet' } as const;
const FINAL = { failure: 'Failed', success: 'Complete' } as const;

export const isDone = ({ status }: Job): boolean =>
  (status?.conditions ?? []).some(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  );

/** The decision that an earlier look has written down. */
export function writtenTarget({ status }: Job): Target | undefined {
  for (const ends of ['failure', 'success'] as const) {
    const found = status?.conditions?.find(
      ({ type, status: value }) => type === INTERIM[ends] && value === 'True',
    );
    if (found !== undefined) return { ends, reason: found.reason ?? '', message: found.message ?? '' };
  }
  return undefined;
}

interface OutcomeObserved {
  readonly job: Job;
  readonly pods: readonly Pod[];
  readonly accounts: Accounts;
  readonly now: number;
}

const failure = (reason: string, message: string): Target => ({ ends: 'failure', reason, message });
const success = (reason: string, message: string): Target => ({ ends: 'success', reason, message });

export function decideOutcome(observed: OutcomeObserved): Target | undefined {
  const { job, accounts } = observed;
  const { spec } = job;
  if (accounts.failJob !== undefined) return failure('PodFailurePolicy', accounts.failJob);
  if (accounts.failed > (spec.backoffLimit ?? 6) || restartsExceeded(observed))
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  const deadline = deadlineAt(job);
  if (deadline !== undefined && observed.now >= deadline)
    return failure('DeadlineExceeded', 'Job was active longer than specified deadline');
  return isIndexed(job) ? decideIndexed(observed) : decidePlain(observed);
}

function decideIndexed({ job, accounts }: OutcomeObserved): Target | undefined {
  const { spec } = job;
  const completions = spec.completions ?? 0;
  const { completedIndexes, failedIndexes } = accounts;
  if (spec.maxFailedIndexes !== undefined && failedIndexes.size > spec.maxFailedIndexes)
    return failure(
      'MaxFailedIndexesExceeded',
      'Job has exceeded the specified maximal number of failed indexes',
    );
  const rule = metSuccessRule(spec.successPolicy, completedIndexes, completions);
  if (rule !== undefined) return success('SuccessPolicy', rule);
  if (completedIndexes.size >= completions) return reached();
  return completedIndexes.size + failedIndexes.size >= completions
    ? failure('FailedIndexes', 'Job has failed indexes')
    : undefined;
}

function decidePlain({ job, pods, accounts }: OutcomeObserved): Target | undefined {
  const { completions } = job.spec;
  if (completions !== undefined) return accounts.succeeded >= completions ? reached() : undefined;
  // A work queue is empty when one has said so and all others have ended too.
  const running = pods.some(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined && status?.phase !== 'Succeeded' && status?.phase !== 'Failed',
  );
  return accounts.succeeded > 0 && !running ? reached() : undefined;
}

const reached = () => success('CompletionsReached', 'Reached expected number of succeeded pods');

/** Containers that are restarted in place fail without their pod failing. */
function restartsExceeded({ job, pods }: OutcomeObserved): boolean {
  if (job.spec.template.spec?.restartPolicy !== 'OnFailure') return false;
  const limit = job.spec.backoffLimit ?? 6;
  let restarts = 0;
  for (const { status } of pods) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue;
    for (const { restartCount } of [
      ...(status.initContainerStatuses ?? []),
      ...(status.containerStatuses ?? []),
    ])
      restarts += restartCount;
  }
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** When the Job's time is over; undefined while it has no end or does not run. */
export function deadlineAt(job: Job): number | undefined {
  const start = timeOf(job.status?.startTime);
  const { activeDeadlineSeconds } = job.spec;
  if (start === undefined || activeDeadlineSeconds === undefined || isSuspended(job)) return undefined;
  return start + activeDeadlineSeconds * 1000;
}

interface ConditionWish {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** Changed only when its status changes. */
export function withCondition(
  conditions: readonly V1JobCondition[],
  wanted: ConditionWish,
  now: number,
): readonly V1JobCondition[] {
  const present = conditions.find(({ type }) => type === wanted.type);
  if (present?.status === wanted.status) return conditions;
  const stamp = stampOf(now);
  const condition = { ...wanted, lastProbeTime: stamp, lastTransitionTime: stamp };
  return [...conditions.filter(({ type }) => type !== wanted.type), condition];
}

export function interimCondition({ ends, reason, message }: Target): ConditionWish {
  return { type: INTERIM[ends], status: 'True', reason, message };
}

export function finalCondition({ ends, reason, message }: Target): ConditionWish {
  return { type: FINAL[ends], status: 'True', reason, message };
}
