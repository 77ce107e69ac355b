// What may change of a Job's status, whoever its controller is. Pure.
// Guarantees: an end once told stands, with nothing left running or uncounted; totals do not go back; only what changed
// is refused.
import {
  type Cause,
  checkNotNegative,
  duplicate,
  IMMUTABLE,
  invalidValue,
  invalidWhole,
  required,
} from '../../causes.js';
import type { V1Job, V1JobSpec, V1JobStatus } from '../../gen/types.js';
import { sameJson } from '../../ownKeys.js';
import { indexesFault, sharedIndex } from './jobIndexes.js';

const COUNTS = ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const;
const ENDS = ['Failed', 'Complete', 'FailureTarget'] as const;

/** One look at both statuses: what is there, and what of it is new. */
interface Change {
  readonly spec: Partial<V1JobSpec>;
  readonly status: V1JobStatus;
  readonly before: V1JobStatus;
  readonly is: (condition: string) => boolean;
  readonly was: (condition: string) => boolean;
  /** One of these conditions or fields is another than before. */
  readonly isNew: (...names: readonly string[]) => boolean;
  readonly isFinished: boolean;
}

/** Both Jobs of an update whose status is another than before. */
export function validateJobStatus(job: V1Job, old: V1Job): Cause[] {
  const change = changeOf(job, old);
  return [
    ...COUNTS.flatMap((name) => checkNotNegative(`status.${name}`, change.status[name])),
    ...validateUncounted(change.status),
    ...validateConditions(change),
    ...validateTimes(change),
    ...validateRest(change),
    ...validateIndexes(change),
    ...validateSteps(change),
  ];
}

function changeOf(job: V1Job, old: V1Job): Change {
  const spec: Partial<V1JobSpec> = job.spec ?? {};
  const status = job.status ?? {};
  const before = old.status ?? {};
  const holds = (of: V1JobStatus) => (name: string) =>
    (of.conditions ?? []).some(({ type, status: value }) => type === name && value === 'True');
  const [is, was] = [holds(status), holds(before)];
  const isFinished = is('Complete') || is('Failed');
  const fields = (of: V1JobStatus) => of as Readonly<Record<string, unknown>>;
  const isNew = (...names: readonly string[]) =>
    names.some((name) => {
      if (name === 'Finished') return isFinished !== (was('Complete') || was('Failed'));
      if (/^[A-Z]/.test(name)) return is(name) !== was(name);
      return !sameJson(fields(status)[name] ?? null, fields(before)[name] ?? null);
    });
  return { spec, status, before, is, was, isNew, isFinished };
}

function validateUncounted({ uncountedTerminatedPods: uncounted }: V1JobStatus): Cause[] {
  const seen = new Set<string>();
  return (['succeeded', 'failed'] as const).flatMap((list) =>
    (uncounted?.[list] ?? []).flatMap((uid, index) => {
      const at = `status.uncountedTerminatedPods.${list}[${index}]`;
      if (uid === '') return [invalidValue(at, uid, 'must not be empty')];
      if (seen.has(uid)) return [duplicate(at, uid)];
      seen.add(uid);
      return [];
    }),
  );
}

function validateConditions({ spec, is, was, isNew }: Change): Cause[] {
  const faults: string[] = [];
  if (isNew('Complete', 'Failed') && is('Complete') && is('Failed'))
    faults.push('cannot set Complete=True and Failed=true conditions');
  if (isNew('Complete', 'FailureTarget') && is('Complete') && is('FailureTarget'))
    faults.push('cannot set Complete=True and FailureTarget=true conditions');
  if (isNew('Failed', 'failedIndexes') && is('Failed') && !is('FailureTarget'))
    faults.push('cannot set Failed=True condition without the FailureTarget=true condition');
  if (isNew('Complete', 'SuccessCriteriaMet') && is('Complete') && !is('SuccessCriteriaMet'))
    faults.push('cannot set Complete=True condition without the SuccessCriteriaMet=true condition');
  if (is('SuccessCriteriaMet') && is('Failed'))
    faults.push('cannot set SuccessCriteriaMet=True and Failed=true conditions');
  if (is('SuccessCriteriaMet') && is('FailureTarget'))
    faults.push('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  if (spec.successPolicy !== undefined && !is('SuccessCriteriaMet') && is('Complete'))
    faults.push('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True');
  for (const end of ENDS)
    if (was(end) && !is(end)) faults.push(`cannot disable the terminal ${end}=True condition`);
  if (was('SuccessCriteriaMet') && !is('SuccessCriteriaMet'))
    faults.push('cannot disable the SuccessCriteriaMet=True condition');
  if (was('Complete') && !was('SuccessCriteriaMet') && is('SuccessCriteriaMet'))
    faults.push('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions');
  return faults.map((why) => invalidWhole('status.conditions', why));
}

function validateTimes(change: Change): Cause[] {
  const { spec, status, before, is, was, isNew, isFinished } = change;
  const { startTime: start, completionTime: end } = status;
  const causes: Cause[] = [];
  const endAt = 'status.completionTime';
  if (isNew('Complete', 'completionTime') && is('Complete') !== (end !== undefined))
    causes.push(
      end === undefined
        ? required(endAt, 'completionTime is required for Complete jobs')
        : invalidValue(endAt, end, 'cannot set completionTime when there is no Complete=True condition'),
    );
  if (
    isNew('startTime', 'completionTime') &&
    start !== undefined &&
    end !== undefined &&
    Date.parse(end) < Date.parse(start)
  )
    causes.push(invalidValue(endAt, end, 'must be equal to or after `startTime`'));
  if (end !== undefined && before.completionTime !== undefined && isNew('completionTime'))
    causes.push(invalidValue(endAt, end, IMMUTABLE));
  const neverRuns = spec.suspend === true && spec.completions === 0;
  if (isNew('Finished', 'startTime') && !neverRuns && isFinished && start === undefined)
    causes.push(required('status.startTime', 'startTime is required for finished job'));
  const isResumed =
    was('Suspended') && status.conditions?.find(({ type }) => type === 'Suspended')?.status === 'False';
  if (isNew('startTime') && before.startTime !== undefined && spec.suspend !== true && !isResumed)
    causes.push(
      invalidValue('status.startTime', start ?? null, 'field is immutable for unsuspended job once set'),
    );
  return causes;
}

/** What may be left of a Job that ends, and how its counts fit. */
function validateRest({ status, isNew, isFinished }: Change): Cause[] {
  const { active = 0, ready, terminating = 0, uncountedTerminatedPods: uncounted } = status;
  const causes: Cause[] = [];
  if (isNew('Finished', 'active') && isFinished && active > 0)
    causes.push(invalidValue('status.active', active, 'active>0 is invalid for finished job'));
  const left = (uncounted?.succeeded ?? []).length + (uncounted?.failed ?? []).length;
  if (isNew('Finished', 'uncountedTerminatedPods') && isFinished && left > 0)
    causes.push(invalidValue('status.uncountedTerminatedPods', uncounted, 'must be empty for finished job'));
  if (isNew('Finished', 'terminating') && isFinished && terminating > 0)
    causes.push(invalidValue('status.terminating', terminating, 'terminating>0 is invalid for finished job'));
  if (isNew('ready', 'active') && ready !== undefined && ready > active)
    causes.push(invalidValue('status.ready', ready, 'cannot set more ready pods than active'));
  return causes;
}

function validateIndexes({ spec, status, isNew }: Change): Cause[] {
  const { completions, backoffLimitPerIndex: limit, completionMode } = spec;
  const { completedIndexes: completed = '', failedIndexes: failed } = status;
  const causes: Cause[] = [];
  const refuse = (list: 'completedIndexes' | 'failedIndexes', why: string) =>
    causes.push(invalidValue(`status.${list}`, status[list], why));
  const check = (list: 'completedIndexes' | 'failedIndexes', text: string) => {
    const fault = completions === undefined ? undefined : indexesFault(text, completions);
    if (fault !== undefined) refuse(list, `error parsing ${list}: ${fault}`);
  };
  if (isNew('completedIndexes')) {
    check('completedIndexes', completed);
    if (completed !== '' && completionMode !== 'Indexed')
      refuse('completedIndexes', 'cannot set non-empty completedIndexes when non-indexed completion mode');
  }
  if (failed === undefined) return causes;
  if (isNew('failedIndexes') && limit === undefined)
    refuse('failedIndexes', 'cannot set non-null failedIndexes when backoffLimitPerIndex is null');
  else if (isNew('failedIndexes')) check('failedIndexes', failed);
  if (isNew('failedIndexes', 'completedIndexes') && completions !== undefined) {
    const shared = sharedIndex(completed, failed, completions);
    if (shared !== undefined)
      refuse('failedIndexes', `failedIndexes and completedIndexes overlap at index: ${shared}`);
  }
  return causes;
}

/** Totals only grow; those of an indexed Job that may shrink may shrink with it. */
function validateSteps({ spec, status, before }: Change): Cause[] {
  const isElastic = spec.completionMode === 'Indexed' && spec.completions === spec.parallelism;
  return (['failed', 'succeeded'] as const).flatMap((name) => {
    const [now, was] = [status[name] ?? 0, before[name] ?? 0];
    if (now >= was || (name === 'succeeded' && isElastic)) return [];
    return [invalidValue(`status.${name}`, now, `cannot decrease the ${name} counter`)];
  });
}
