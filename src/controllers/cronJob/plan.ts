// What a CronJob does now: the Job that is due, those that must make room, those that history no longer keeps. Pure.
// Guarantees: a time has one Job name, so the same time is never started twice; at most one Job is made at a look.
import { CronError, type CronSchedule, parseCron } from '../../api/cronSchedule.js';
import type { V1CronJob, V1CronJobStatus, V1Job, V1ObjectReference } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { CRON_JOBS } from '../../api/resources.js';
import { controllerReference } from '../claim.js';
import type { ControllerEvent } from '../controller.js';
import { stampOf, timeOf } from '../pods.js';
import { missedTimes, nextTime, openZone } from './times.js';

export type CronJob = Stored<V1CronJob>;
export type Job = Stored<V1Job>;

const SCHEDULED = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

interface CronJobObserved {
  readonly cron: CronJob;
  /** Those it holds. */
  readonly jobs: readonly Job[];
  readonly now: number;
}

export interface CronJobPlan {
  readonly create?: { readonly job: V1Job; readonly scheduledMs: number };
  /** Running ones that are replaced. */
  readonly replace: readonly Job[];
  /** Ended ones beyond the number to keep. */
  readonly forget: readonly Job[];
  readonly status: V1CronJobStatus;
  readonly events: readonly ControllerEvent[];
  readonly againMs?: number;
}

const normal = (reason: string, message: string): ControllerEvent => ({ type: 'Normal', reason, message });
const warning = (reason: string, message: string): ControllerEvent => ({ type: 'Warning', reason, message });

function endOf({ status }: Job): 'Complete' | 'Failed' | undefined {
  const found = (status?.conditions ?? []).find(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  );
  return found?.type as 'Complete' | 'Failed' | undefined;
}

export function planCronJob(observed: CronJobObserved): CronJobPlan {
  const { cron, jobs, now } = observed;
  const events: ControllerEvent[] = [];
  const status = reviewed(observed, events);
  const idle: CronJobPlan = { replace: [], forget: surplusHistory(observed), status, events };
  if (cron.metadata.deletionTimestamp !== undefined || cron.spec.suspend === true) return idle;
  const zone = openZone(cron.spec.timeZone);
  if (zone === undefined) {
    const name = cron.spec.timeZone ?? '';
    events.push(warning('UnknownTimeZone', `invalid timeZone: "${name}": unknown time zone ${name}`));
    return idle;
  }
  const schedule = scheduleOf(cron);
  if (schedule === undefined) {
    events.push(
      warning('UnparseableSchedule', `unparseable schedule: ${JSON.stringify(cron.spec.schedule)}`),
    );
    return idle;
  }
  const { last, tooMany } = missedTimes(schedule, zone, earliestOf(cron, now), now);
  if (tooMany)
    events.push(
      warning(
        'TooManyMissedTimes',
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
      ),
    );
  const next = nextTime(schedule, zone, now);
  const waiting = { ...idle, ...(next === undefined ? {} : { againMs: next - now + 100 }) };
  if (last === undefined || isStarted(observed, last)) return waiting;
  const running = jobs.filter((job) => endOf(job) === undefined);
  const policy = cron.spec.concurrencyPolicy ?? 'Allow';
  if (policy === 'Forbid' && running.length > 0) {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    events.push(normal('JobAlreadyActive', message));
    return waiting;
  }
  const replace = policy === 'Replace' ? running : [];
  return { ...waiting, replace, create: { job: jobFor(cron, last), scheduledMs: last } };
}

/** Where missed times are counted from. */
function earliestOf({ metadata, spec, status }: CronJob, now: number): number {
  const since = timeOf(status?.lastScheduleTime) ?? timeOf(metadata.creationTimestamp) ?? now;
  const { startingDeadlineSeconds } = spec;
  return startingDeadlineSeconds === undefined
    ? since
    : Math.max(since, now - startingDeadlineSeconds * 1000);
}

function isStarted({ cron, jobs }: CronJobObserved, scheduledMs: number): boolean {
  const name = jobName(cron, scheduledMs);
  return (
    timeOf(cron.status?.lastScheduleTime) === scheduledMs ||
    jobs.some(({ metadata }) => metadata.name === name)
  );
}

/** By the minute, so that whoever makes the Job of a time makes the same one. */
function jobName({ metadata }: CronJob, scheduledMs: number): string {
  return `${metadata.name}-${Math.floor(scheduledMs / 60_000)}`;
}

function jobFor(cron: CronJob, scheduledMs: number): V1Job {
  const { metadata, spec } = cron.spec.jobTemplate;
  const { namespace } = cron.metadata;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(cron, scheduledMs),
      ...(namespace === undefined ? {} : { namespace }),
      ...(metadata?.labels === undefined ? {} : { labels: metadata.labels }),
      annotations: { ...metadata?.annotations, [SCHEDULED]: stampOf(scheduledMs) },
      ownerReferences: [controllerReference(CRON_JOBS, cron)],
    },
    ...(spec === undefined ? {} : { spec }),
  };
}

/** The list of running Jobs as it is now, and what is to be told of those that left it. */
function reviewed({ cron, jobs }: CronJobObserved, events: ControllerEvent[]): V1CronJobStatus {
  const byUid = new Map(jobs.map((job) => [job.metadata.uid, job]));
  const active: V1ObjectReference[] = [];
  let success = timeOf(cron.status?.lastSuccessfulTime);
  for (const reference of cron.status?.active ?? []) {
    const job = byUid.get(reference.uid ?? '');
    const end = job === undefined ? undefined : endOf(job);
    if (job === undefined)
      events.push(normal('MissingJob', `Active job went missing: ${reference.name ?? ''}`));
    else if (end === undefined) active.push(reference);
    else events.push(normal('SawCompletedJob', `Saw completed job: ${job.metadata.name}, condition: ${end}`));
  }
  const listed = new Set((cron.status?.active ?? []).map(({ uid }) => uid));
  for (const job of jobs) {
    if (endOf(job) === 'Complete') {
      const time = timeOf(job.status?.completionTime);
      if (time !== undefined && time > (success ?? 0)) success = time;
    } else if (endOf(job) === undefined && !listed.has(job.metadata.uid)) active.push(referenceTo(job));
  }
  const { lastScheduleTime } = cron.status ?? {};
  return {
    ...(active.length === 0 ? {} : { active }),
    ...(lastScheduleTime === undefined ? {} : { lastScheduleTime }),
    ...(success === undefined ? {} : { lastSuccessfulTime: stampOf(success) }),
  };
}

export function referenceTo({ metadata }: Job): V1ObjectReference {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion: 'batch/v1', kind: 'Job', name, namespace, uid, resourceVersion };
}

function surplusHistory({ cron, jobs }: CronJobObserved): readonly Job[] {
  const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = cron.spec;
  const started = ({ status, metadata }: Job) =>
    timeOf(status?.startTime) ?? timeOf(metadata.creationTimestamp) ?? 0;
  const beyond = (end: string, limit: number) => {
    const ended = jobs
      .filter((job) => endOf(job) === end && job.metadata.deletionTimestamp === undefined)
      .sort((a, b) => started(a) - started(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
    return ended.slice(0, Math.max(0, ended.length - limit));
  };
  return [...beyond('Complete', successfulJobsHistoryLimit), ...beyond('Failed', failedJobsHistoryLimit)];
}

/** Undefined for what the API would not take today. */
function scheduleOf({ spec }: CronJob): CronSchedule | undefined {
  try {
    return parseCron(spec.schedule);
  } catch (error) {
    if (error instanceof CronError) return undefined;
    throw error;
  }
}
