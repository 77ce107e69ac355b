// Checks of a job's spec, for jobs and for the templates in CronJobs. Pure.
// Guarantees: its pods can end; its numbers fit one another; its policies name what exists.
import {
  type Cause,
  checkNotNegative,
  checkOneOf,
  invalidValue,
  notSupported,
  required,
  tooMany,
} from '../../causes.js';
import type { V1Job, V1JobSpec, V1PodFailurePolicyRule, V1SuccessPolicyRule } from '../../gen/types.js';
import { sameMeaning } from '../../meaning.js';
import { validateLabelSelector } from '../../meta.js';
import { compileLabelSelector } from '../../selectors.js';
import { validateTemplate } from '../pod/validate.js';
import { CONTROLLER_UID } from './jobLabels.js';

const MAX_INDEXED = 100_000;
const MAX_FAILED_INDEXES = 100_000;
const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;
const COUNTS = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const;

export function validateJobSpec(spec: V1JobSpec | undefined, at: string): Cause[] {
  if (spec === undefined) return [required(`${at}.template.spec.containers`)];
  const rules = spec.podFailurePolicy?.rules ?? [];
  return [
    ...COUNTS.flatMap((name) => checkNotNegative(`${at}.${name}`, spec[name])),
    ...(spec.completionMode === undefined ? [] : validateMode(spec, at)),
    ...validateIndexes(spec, at),
    ...checkOneOf(`${at}.podReplacementPolicy`, spec.podReplacementPolicy, replacements(spec)),
    ...(rules.length > MAX_RULES
      ? [tooMany(`${at}.podFailurePolicy.rules`, rules.length, MAX_RULES)]
      : rules.flatMap((rule, index) =>
          validateFailureRule(rule, spec, `${at}.podFailurePolicy.rules[${index}]`),
        )),
    ...validateSuccess(spec, at),
    ...validateTemplate(spec.template, `${at}.template`),
    ...validateRestart(spec, at),
  ];
}

/** With a failure policy, a pod that is still ending cannot be judged yet. */
const replacements = ({ podFailurePolicy }: V1JobSpec) =>
  podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];

function validateMode({ completionMode = '', completions, parallelism = 0 }: V1JobSpec, at: string): Cause[] {
  if (completionMode !== 'NonIndexed' && completionMode !== 'Indexed')
    return [notSupported(`${at}.completionMode`, completionMode, ['NonIndexed', 'Indexed'])];
  if (completionMode === 'NonIndexed') return [];
  const causes: Cause[] = [];
  if (completions === undefined)
    causes.push(required(`${at}.completions`, 'when completion mode is Indexed'));
  if (parallelism > MAX_INDEXED)
    causes.push(
      invalidValue(
        `${at}.parallelism`,
        parallelism,
        `must be less than or equal to ${MAX_INDEXED} when completion mode is Indexed`,
      ),
    );
  return causes;
}

function validateIndexes(spec: V1JobSpec, at: string): Cause[] {
  const { backoffLimitPerIndex: perIndex, maxFailedIndexes: most, completionMode, completions = 0 } = spec;
  const causes: Cause[] = [];
  if (perIndex !== undefined && completionMode !== 'Indexed')
    causes.push(invalidValue(`${at}.backoffLimitPerIndex`, perIndex, 'requires indexed completion mode'));
  if (most === undefined) return causes;
  if (perIndex === undefined)
    causes.push(required(`${at}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  if (most > completions)
    causes.push(invalidValue(`${at}.maxFailedIndexes`, most, 'must be less than or equal to completions'));
  if (most > MAX_FAILED_INDEXES)
    causes.push(
      invalidValue(`${at}.maxFailedIndexes`, most, `must be less than or equal to ${MAX_FAILED_INDEXES}`),
    );
  return causes;
}

function validateRestart({ template, podFailurePolicy }: V1JobSpec, at: string): Cause[] {
  const policy = template?.spec?.restartPolicy;
  const field = `${at}.template.spec.restartPolicy`;
  if (policy === undefined) return [];
  if (policy === 'Always') return [required(field, 'valid values: "OnFailure", "Never"')];
  if (policy !== 'OnFailure' && policy !== 'Never')
    return [notSupported(field, policy, ['OnFailure', 'Never'])];
  return podFailurePolicy !== undefined && policy !== 'Never'
    ? [invalidValue(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    : [];
}

const ACTIONS = ['FailJob', 'FailIndex', 'Ignore', 'Count'];

function validateFailureRule(
  { action = '', onExitCodes, onPodConditions = [] }: V1PodFailurePolicyRule,
  { backoffLimitPerIndex, template }: V1JobSpec,
  at: string,
): Cause[] {
  const causes: Cause[] = [];
  if (action === 'FailIndex' && backoffLimitPerIndex === undefined)
    causes.push(invalidValue(`${at}.action`, action, 'requires the backoffLimitPerIndex to be set'));
  else if (!ACTIONS.includes(action)) causes.push(notSupported(`${at}.action`, action, ACTIONS));
  if (onExitCodes !== undefined) {
    const here = `${at}.onExitCodes`;
    const { operator, values = [], containerName } = onExitCodes;
    causes.push(...checkOneOf(`${here}.operator`, operator, ['In', 'NotIn']));
    if (values.length === 0)
      causes.push(invalidValue(`${here}.values`, values, 'at least one value is required'));
    else if (values.length > MAX_EXIT_CODES)
      causes.push(tooMany(`${here}.values`, values.length, MAX_EXIT_CODES));
    else if (operator === 'In' && values.includes(0))
      causes.push(
        invalidValue(`${here}.values[${values.indexOf(0)}]`, 0, 'must not be 0 for the In operator'),
      );
    const { containers = [], initContainers = [] } = template?.spec ?? {};
    const names = [...containers, ...initContainers].map(({ name }) => name);
    if (containerName !== undefined && !names.includes(containerName))
      causes.push(
        invalidValue(
          `${here}.containerName`,
          containerName,
          'must be one of the container or initContainer names in the pod template',
        ),
      );
  }
  for (const [index, { type, status }] of onPodConditions.entries()) {
    const here = `${at}.onPodConditions[${index}]`;
    if (!type) causes.push(required(`${here}.type`));
    causes.push(...checkOneOf(`${here}.status`, status, ['False', 'True', 'Unknown']));
  }
  if (onExitCodes !== undefined && onPodConditions.length > 0)
    causes.push(
      invalidValue(at, { action }, 'specifying both OnExitCodes and OnPodConditions is not supported'),
    );
  else if (onExitCodes === undefined && onPodConditions.length === 0)
    causes.push(
      invalidValue(at, { action }, 'specifying one of OnExitCodes and OnPodConditions is required'),
    );
  return causes;
}

function validateSuccess({ successPolicy, completionMode, completions = 0 }: V1JobSpec, at: string): Cause[] {
  if (successPolicy === undefined) return [];
  const here = `${at}.successPolicy`;
  if (completionMode !== 'Indexed')
    return [invalidValue(here, successPolicy, 'requires indexed completion mode')];
  const { rules = [] } = successPolicy;
  if (rules.length === 0)
    return [
      required(`${here}.rules`, 'at least one rules must be specified when the successPolicy is specified'),
    ];
  if (rules.length > MAX_RULES) return [tooMany(`${here}.rules`, rules.length, MAX_RULES)];
  return rules.flatMap((rule, index) => validateSuccessRule(rule, completions, `${here}.rules[${index}]`));
}

function validateSuccessRule(
  { succeededIndexes, succeededCount }: V1SuccessPolicyRule,
  completions: number,
  at: string,
): Cause[] {
  if (succeededIndexes === undefined && succeededCount === undefined)
    return [required(at, 'at least one of succeededCount or succeededIndexes must be specified')];
  const causes = checkNotNegative(`${at}.succeededCount`, succeededCount);
  if (succeededCount !== undefined && succeededCount > completions)
    causes.push(
      invalidValue(
        `${at}.succeededCount`,
        succeededCount,
        `must be less than or equal to ${completions} (the number of specified completions)`,
      ),
    );
  if (succeededIndexes !== undefined && !/^\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*$/.test(succeededIndexes))
    causes.push(
      invalidValue(
        `${at}.succeededIndexes`,
        succeededIndexes,
        'error parsing succeededIndexes: cannot convert string to integer for index',
      ),
    );
  return causes;
}

/** Unless the user says that the selector is theirs, it is the one that the job's uid makes. */
export function validateGeneratedSelector({ metadata }: V1Job, spec: V1JobSpec): Cause[] {
  const { selector, template, manualSelector } = spec;
  if (selector === undefined) return [required('spec.selector')];
  const faults = validateLabelSelector(selector, 'spec.selector');
  if (faults.length > 0) return faults;
  const uid = metadata?.uid ?? '';
  const generated = { matchLabels: { [CONTROLLER_UID]: uid } };
  if (manualSelector !== true && !sameMeaning('V1LabelSelector', selector, generated))
    return [invalidValue('spec.selector', selector, '`selector` not auto-generated')];
  const labels = template?.metadata?.labels ?? {};
  return compileLabelSelector(selector)(labels)
    ? []
    : [invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')];
}
