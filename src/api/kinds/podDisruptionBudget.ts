// PodDisruptionBudget: how many of the selected pods must stay when others want to evict them. Pure.
// Guarantees: it bounds from one side only, by a number or a share.
import { type Cause, checkOneOf, invalidValue } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1PodDisruptionBudget, V1PodDisruptionBudgetSpec } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { validateLabelSelector } from '../meta.js';
import { POD_DISRUPTION_BUDGETS } from '../resources.js';
import { validateIntOrPercent } from './intOrPercent.js';
import { validateCounts } from './statusChecks.js';

export const podDisruptionBudgetKind: KindDefinition<V1PodDisruptionBudget> = {
  type: POD_DISRUPTION_BUDGETS,
  needsResourceVersion: true,
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  categories: [],
  model: 'V1PodDisruptionBudget',
  hasStatus: true,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  prepareForCreate(draft) {
    draft.status = { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };
  },
  validate: ({ spec = {}, status }, old) => [...validateCounts({ status }, old), ...validateBudget(spec)],
  columns: [
    nameColumn,
    column('Min Available', ({ spec }) => String(spec?.minAvailable ?? 'N/A'), {
      description: 'How many must stay.',
    }),
    column('Max Unavailable', ({ spec }) => String(spec?.maxUnavailable ?? 'N/A'), {
      description: 'How many may be missing.',
    }),
    column('Allowed Disruptions', ({ status }) => status?.disruptionsAllowed ?? 0, {
      type: 'integer',
      description: 'How many may be evicted now.',
    }),
    ageColumn,
  ],
};

/** As Kubernetes writes it, whose type gives these fields no other names. */
const shown = (spec: V1PodDisruptionBudgetSpec) => ({
  MinAvailable: spec.minAvailable ?? null,
  Selector: spec.selector ?? null,
  MaxUnavailable: spec.maxUnavailable ?? null,
  UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
});

function validateBudget(spec: V1PodDisruptionBudgetSpec): Cause[] {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policy } = spec;
  const causes: Cause[] = [];
  if (minAvailable !== undefined && maxUnavailable !== undefined)
    causes.push(invalidValue('spec', shown(spec), 'minAvailable and maxUnavailable cannot be both set'));
  if (minAvailable !== undefined)
    causes.push(...validateIntOrPercent(minAvailable, 'spec.minAvailable', { most: 100 }));
  if (maxUnavailable !== undefined)
    causes.push(...validateIntOrPercent(maxUnavailable, 'spec.maxUnavailable', { most: 100 }));
  return [
    ...causes,
    ...validateLabelSelector(selector, 'spec.selector'),
    ...checkOneOf('spec.unhealthyPodEvictionPolicy', policy, ['AlwaysAllow', 'IfHealthyBudget']),
  ];
}
