// Deployment: equal pods, and how they are replaced when their template changes. Pure.
// Guarantees: a rolling update can always make progress: not both of its bounds are zero.
import { type Cause, checkNotNegative, checkOneOf, forbiddenField, invalidValue } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1Deployment, V1DeploymentSpec, V1DeploymentStrategy } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { DEPLOYMENTS } from '../resources.js';
import { isZero, validateIntOrPercent } from './intOrPercent.js';
import { validateCounts } from './statusChecks.js';
import { defaultWorkload, templateColumns, validateWorkload, workloadScale } from './workload.js';

const QUARTER = '25%';

export const deploymentKind: KindDefinition<V1Deployment> = {
  type: DEPLOYMENTS,
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  model: 'V1Deployment',
  hasStatus: true,
  statusKeeps: ['labels'],
  scale: workloadScale<V1Deployment>(),
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults({ spec }) {
    if (spec === undefined) return;
    defaultWorkload(spec);
    spec.revisionHistoryLimit ??= 10;
    spec.progressDeadlineSeconds ??= 600;
    spec.strategy ??= {};
    spec.strategy.type ||= 'RollingUpdate';
    if (spec.strategy.type !== 'RollingUpdate') return;
    spec.strategy.rollingUpdate ??= {};
    spec.strategy.rollingUpdate.maxUnavailable ??= QUARTER;
    spec.strategy.rollingUpdate.maxSurge ??= QUARTER;
  },
  prepareForCreate(draft) {
    draft.status = {};
  },
  validate: ({ spec, status }, old) => [
    ...validateCounts({ status }, old),
    ...validateWorkload(spec, old?.spec, 'deployment'),
    ...(spec === undefined ? [] : validateRollout(spec)),
  ],
  columns: [
    nameColumn,
    column('Ready', ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`, {
      description: 'How many of its pods are ready.',
    }),
    column('Up-to-date', ({ status }) => status?.updatedReplicas ?? 0, {
      type: 'integer',
      description: 'How many have the newest template.',
    }),
    column('Available', ({ status }) => status?.availableReplicas ?? 0, {
      type: 'integer',
      description: 'How many have been ready long enough.',
    }),
    ageColumn,
    ...templateColumns<V1Deployment>(),
  ],
};

function validateRollout(spec: V1DeploymentSpec): Cause[] {
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0 } = spec;
  const causes = checkNotNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
  if (deadline !== undefined) {
    causes.push(...checkNotNegative('spec.progressDeadlineSeconds', deadline));
    if (deadline <= minReadySeconds)
      causes.push(
        invalidValue('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'),
      );
  }
  return [...causes, ...validateStrategy(spec.strategy ?? {})];
}

function validateStrategy({ type, rollingUpdate }: V1DeploymentStrategy): Cause[] {
  const at = 'spec.strategy.rollingUpdate';
  if (type === 'Recreate')
    return rollingUpdate === undefined
      ? []
      : [forbiddenField(at, "may not be specified when strategy `type` is 'Recreate'")];
  const causes = checkOneOf('spec.strategy.type', type, ['Recreate', 'RollingUpdate']);
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  causes.push(
    ...validateIntOrPercent(maxUnavailable, `${at}.maxUnavailable`, { most: 100 }),
    ...validateIntOrPercent(maxSurge, `${at}.maxSurge`),
  );
  if (causes.length === 0 && isZero(maxUnavailable) && isZero(maxSurge))
    causes.push(invalidValue(`${at}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0'));
  return causes;
}
