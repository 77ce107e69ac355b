// CronJob: a job made again and again, by a schedule. Pure.
// Guarantees: the schedule can be read and its time zone exists; the names of its jobs have room to grow.
import {
  type Cause,
  checkNotNegative,
  checkOneOf,
  invalidValue,
  notSupported,
  required,
} from '../../causes.js';
import { ageColumn, column, nameColumn } from '../../columns.js';
import { CronError, parseCron } from '../../cronSchedule.js';
import { ageOf } from '../../duration.js';
import type { V1CronJob, V1CronJobSpec } from '../../gen/types.js';
import type { KindDefinition } from '../../kind.js';
import { CRON_JOBS } from '../../resources.js';
import { formatLabelSelector } from '../../selectors.js';
import { defaultPodSpec } from '../pod/defaults.js';
import { containerColumns, selectorColumn } from '../workload.js';
import { validateJobSpec } from './jobValidate.js';

/** Eleven less than a label: the jobs' names add a time. */
const MAX_NAME = 52;
const POLICIES = ['Allow', 'Forbid', 'Replace'];

export const cronJobKind: KindDefinition<V1CronJob> = {
  type: CRON_JOBS,
  singular: 'cronjob',
  shortNames: ['cj'],
  categories: ['all'],
  model: 'V1CronJob',
  hasStatus: true,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults({ spec }) {
    if (spec === undefined) return;
    spec.concurrencyPolicy ||= 'Allow';
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    // The job's own defaults come when a job is made of the template.
    const pod = spec.jobTemplate?.spec?.template?.spec;
    if (pod !== undefined) defaultPodSpec(pod);
  },
  prepareForCreate(draft) {
    draft.status = {};
  },
  validate({ metadata, spec }) {
    const name = metadata?.name ?? '';
    const faults =
      name.length > MAX_NAME
        ? [invalidValue('metadata.name', name, `must be no more than ${MAX_NAME} characters`)]
        : [];
    return [...validateCronJob(spec ?? { schedule: '', jobTemplate: {} }), ...faults];
  },
  columns: [
    nameColumn,
    column('Schedule', ({ spec }) => spec?.schedule ?? '', { description: 'When it makes jobs.' }),
    column('Timezone', ({ spec }) => spec?.timeZone || '<none>', {
      description: 'The time zone of the schedule.',
    }),
    column(
      'Suspend',
      ({ spec }) => (spec?.suspend === undefined ? '<unset>' : spec.suspend ? 'True' : 'False'),
      {
        description: 'Whether it makes none for now.',
      },
    ),
    column('Active', ({ status }) => status?.active?.length ?? 0, {
      type: 'integer',
      description: 'How many of its jobs run.',
    }),
    column(
      'Last Schedule',
      ({ status }, now) =>
        status?.lastScheduleTime === undefined ? '<none>' : ageOf(status.lastScheduleTime, now),
      { description: 'How long ago it made the last one.' },
    ),
    ageColumn,
    ...containerColumns<V1CronJob>(({ spec }) => spec?.jobTemplate?.spec?.template),
    selectorColumn<V1CronJob>(({ spec }) => formatLabelSelector(spec?.jobTemplate?.spec?.selector)),
  ],
};

function validateCronJob(spec: V1CronJobSpec): Cause[] {
  const { schedule = '', concurrencyPolicy, jobTemplate = {} } = spec;
  const job = jobTemplate.spec;
  const causes = [
    ...(schedule === '' ? [required('spec.schedule')] : validateSchedule(schedule, 'spec.schedule')),
    ...validateZone(spec.timeZone, 'spec.timeZone'),
    ...checkNotNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds),
    ...(concurrencyPolicy
      ? checkOneOf('spec.concurrencyPolicy', concurrencyPolicy, POLICIES)
      : [required('spec.concurrencyPolicy')]),
    ...checkNotNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit),
    ...checkNotNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit),
    ...validateJobSpec(job, 'spec.jobTemplate.spec'),
  ];
  if (job?.selector !== undefined)
    causes.push(
      invalidValue('spec.jobTemplate.spec.selector', job.selector, '`selector` will be auto-generated'),
    );
  if (job?.manualSelector === true)
    causes.push(notSupported('spec.jobTemplate.spec.manualSelector', true, ['nil', 'false']));
  return causes;
}

function validateSchedule(schedule: string, at: string): Cause[] {
  if (/(^|\s)(CRON_)?TZ=/.test(schedule))
    return [invalidValue(at, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead')];
  try {
    parseCron(schedule);
    return [];
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    return [invalidValue(at, schedule, error.message)];
  }
}

function validateZone(zone: string | undefined, at: string): Cause[] {
  if (zone === undefined) return [];
  if (zone === '') return [invalidValue(at, zone, 'timeZone must be nil or non-empty string')];
  if (zone.toLowerCase() === 'local')
    return [
      invalidValue(
        at,
        zone,
        'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
      ),
    ];
  return isZone(zone) ? [] : [invalidValue(at, zone, `unknown time zone ${zone}`)];
}

function isZone(zone: string): boolean {
  // Offsets are zones to this runtime, but files to Go, which has none of them.
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
