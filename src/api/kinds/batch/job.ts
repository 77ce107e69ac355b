// Job: pods that run to their end, so and so many. Pure.
// Guarantees: a job finds its own pods and no others, by a label that holds its uid.
import { ageColumn, column, nameColumn } from '../../columns.js';
import { humanDuration } from '../../duration.js';
import type { V1Job, V1JobSpec } from '../../gen/types.js';
import type { Draft, KindDefinition } from '../../kind.js';
import { JOBS } from '../../resources.js';
import { formatLabelSelector } from '../../selectors.js';
import { defaultPodSpec } from '../pod/defaults.js';
import { isNewStatus } from '../statusChecks.js';
import { containerColumns, selectorColumn } from '../workload.js';
import { CONTROLLER_UID, JOB_NAME, OLD_CONTROLLER_UID, OLD_JOB_NAME } from './jobLabels.js';
import { validateJobStatus } from './jobStatus.js';
import { validateJobUpdate } from './jobUpdate.js';
import { validateGeneratedSelector, validateJobSpec } from './jobValidate.js';

const MAX_INT32 = 2 ** 31 - 1;

export const jobKind: KindDefinition<V1Job> = {
  type: JOBS,
  orphansByDefault: {
    warning:
      'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  },
  singular: 'job',
  shortNames: [],
  categories: ['all'],
  model: 'V1Job',
  hasStatus: true,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    if (draft.spec === undefined) return;
    defaultJobSpec(draft.spec);
    defaultLabels(draft);
  },
  prepareForCreate(draft) {
    draft.status = {};
    if (draft.spec === undefined || draft.spec.manualSelector === true) return;
    generateSelector(draft, draft.spec);
    defaultLabels(draft);
  },
  validate: (job, old) => [
    ...validateJobSpec(job.spec, 'spec'),
    ...(old === undefined && job.spec !== undefined ? validateGeneratedSelector(job, job.spec) : []),
    ...(old?.spec === undefined || job.spec === undefined ? [] : validateJobUpdate(job.spec, old)),
    ...(old !== undefined && isNewStatus(job, old) ? validateJobStatus(job, old) : []),
  ],
  columns: [
    nameColumn,
    column('Status', statusCell, { description: 'What the job has come to, in one word.' }),
    column('Completions', completionsCell, { description: 'How many pods have ended well, of how many.' }),
    column('Duration', durationCell, { description: 'How long it took, or has taken so far.' }),
    ageColumn,
    ...containerColumns<V1Job>(({ spec }) => spec?.template),
    selectorColumn<V1Job>(({ spec }) => formatLabelSelector(spec?.selector)),
  ],
  fields: ({ status }) => ({ 'status.successful': String(status?.succeeded ?? 0) }),
};

function defaultJobSpec(spec: Draft<V1JobSpec>): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  // With a limit for each index, the whole needs none of its own.
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : MAX_INT32;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.manualSelector ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  for (const rule of spec.podFailurePolicy?.rules ?? [])
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= 'True';
  if (spec.template?.spec !== undefined) defaultPodSpec(spec.template.spec);
}

/** A job without labels has those of its pods. */
function defaultLabels({ metadata, spec }: Draft<V1Job>): void {
  const labels = spec?.template?.metadata?.labels ?? {};
  if (metadata === undefined || Object.keys(labels).length === 0) return;
  if (Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels };
}

function generateSelector({ metadata }: Draft<V1Job>, spec: Draft<V1JobSpec>): void {
  const { uid = '', name = '' } = metadata ?? {};
  const template = spec.template ?? {};
  template.metadata ??= {};
  template.metadata.labels = {
    ...template.metadata.labels,
    [CONTROLLER_UID]: uid,
    [OLD_CONTROLLER_UID]: uid,
    [JOB_NAME]: name,
    [OLD_JOB_NAME]: name,
  };
  spec.template = template;
  spec.selector ??= {};
  spec.selector.matchLabels = { ...spec.selector.matchLabels, [CONTROLLER_UID]: uid };
}

function statusCell(job: V1Job): string {
  const has = (type: string) =>
    job.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True');
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (job.metadata?.deletionTimestamp !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(has) ?? 'Running';
}

function completionsCell({ spec, status }: V1Job): string {
  const { completions, parallelism = 0 } = spec ?? {};
  const done = status?.succeeded ?? 0;
  if (completions !== undefined) return `${done}/${completions}`;
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`;
}

function durationCell({ status }: V1Job, now: number): string {
  if (status?.startTime === undefined) return '';
  const end = status.completionTime === undefined ? now : Date.parse(status.completionTime);
  return humanDuration(end - Date.parse(status.startTime));
}
