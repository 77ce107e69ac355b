// HorizontalPodAutoscaler: how many replicas a workload shall have, by what is measured. Pure.
// Guarantees: there is always something to measure, and a range that is not empty; a status counts no fewer than none.
import { type Cause, checkNotNegative, invalidValue, required } from '../../causes.js';
import { ageColumn, column, nameColumn } from '../../columns.js';
import type {
  V2HorizontalPodAutoscaler,
  V2HorizontalPodAutoscalerSpec,
  V2HPAScalingRules,
} from '../../gen/types.js';
import type { Draft, KindDefinition } from '../../kind.js';
import { HORIZONTAL_POD_AUTOSCALERS } from '../../resources.js';
import { isNewStatus } from '../statusChecks.js';
import { targetsCell } from './metricsCell.js';
import { validateBehavior, validateMetrics } from './metricsValidate.js';
import { autoscalingV1 } from './v1.js';

const DEFAULT_CPU_PERCENT = 80;

export const horizontalPodAutoscalerKind: KindDefinition<V2HorizontalPodAutoscaler> = {
  type: HORIZONTAL_POD_AUTOSCALERS,
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  model: 'V2HorizontalPodAutoscaler',
  hasStatus: true,
  versions: [autoscalingV1],
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults({ spec }) {
    if (spec === undefined) return;
    spec.minReplicas ??= 1;
    if ((spec.metrics ?? []).length === 0)
      spec.metrics = [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: DEFAULT_CPU_PERCENT } },
        },
      ];
    if (spec.behavior === undefined) return;
    spec.behavior.scaleUp = withRules(spec.behavior.scaleUp, [
      { type: 'Pods', value: 4, periodSeconds: 15 },
      { type: 'Percent', value: 100, periodSeconds: 15 },
    ]);
    spec.behavior.scaleUp.stabilizationWindowSeconds ??= 0;
    spec.behavior.scaleDown = withRules(spec.behavior.scaleDown, [
      { type: 'Percent', value: 100, periodSeconds: 15 },
    ]);
  },
  prepareForCreate(draft) {
    draft.status = { currentReplicas: 0, desiredReplicas: 0 };
  },
  validate: (autoscaler, old) => [
    ...validateAutoscaler(autoscaler.spec, old?.spec),
    ...(isNewStatus(autoscaler, old)
      ? [
          ...checkNotNegative('status.currentReplicas', autoscaler.status?.currentReplicas),
          ...checkNotNegative('status.desiredReplicas', autoscaler.status?.desiredReplicas),
        ]
      : []),
  ],
  columns: [
    nameColumn,
    column('Reference', ({ spec }) => `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`, {
      description: 'What it scales.',
    }),
    column('Targets', ({ spec, status }) => targetsCell(spec.metrics ?? [], status?.currentMetrics ?? []), {
      description: 'What is measured, and what it should be.',
    }),
    column('MinPods', ({ spec }) => String(spec.minReplicas ?? '<unset>'), {
      description: 'The fewest replicas.',
    }),
    column('MaxPods', ({ spec }) => spec.maxReplicas, { type: 'integer', description: 'The most replicas.' }),
    column('Replicas', ({ status }) => status?.currentReplicas ?? 0, {
      type: 'integer',
      description: 'How many there are.',
    }),
    ageColumn,
  ],
};

type Rules = Draft<V2HPAScalingRules>;

function withRules(rules: Rules | undefined, policies: NonNullable<Rules['policies']>): Rules {
  const result = rules ?? {};
  result.selectPolicy ??= 'Max';
  result.policies ??= policies;
  return result;
}

type Spec = V2HorizontalPodAutoscalerSpec;

/** Who may be scaled says its group, but for the one kind of the core group. What was stored without stays valid. */
function validateTargetVersion(target: Spec['scaleTargetRef'] | undefined, old: Spec | undefined): Cause[] {
  const { apiVersion = '', kind = '' } = target ?? {};
  const before = old?.scaleTargetRef;
  if (before !== undefined && (before.apiVersion ?? '') === apiVersion && before.kind === kind) return [];
  const at = 'spec.scaleTargetRef.apiVersion';
  const parts = apiVersion.split('/');
  if (parts.length > 2)
    return [invalidValue(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  if (kind === 'ReplicationController' || (parts.length === 2 && parts[0] !== '')) return [];
  return [invalidValue(at, apiVersion, 'apiVersion must specify API group')];
}

function validateAutoscaler(spec: Spec | undefined, old: Spec | undefined): Cause[] {
  const { scaleTargetRef: target, minReplicas, maxReplicas = 0, metrics = [], behavior } = spec ?? {};
  const causes: Cause[] = [];
  if (minReplicas !== undefined && minReplicas < 1)
    causes.push(invalidValue('spec.minReplicas', minReplicas, 'must be greater than or equal to 1'));
  if (maxReplicas === 0) causes.push(required('spec.maxReplicas', 'must be set and greater than 0'));
  else if (maxReplicas < 0)
    causes.push(invalidValue('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1'));
  if (minReplicas !== undefined && maxReplicas < minReplicas)
    causes.push(
      invalidValue('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'),
    );
  if (!target?.kind) causes.push(required('spec.scaleTargetRef.kind'));
  if (!target?.name) causes.push(required('spec.scaleTargetRef.name'));
  return [
    ...causes,
    ...validateTargetVersion(target, old),
    ...validateMetrics(metrics, 'spec.metrics'),
    ...validateBehavior(behavior, 'spec.behavior'),
  ];
}
