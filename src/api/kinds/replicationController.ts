// ReplicationController: what ReplicaSet replaced, still served. Pure.
// Guarantees: its selector, a plain map, finds its template's pods.
import { type Cause, checkNotNegative, invalidValue, required } from '../causes.js';
import { ageColumn, nameColumn } from '../columns.js';
import type { V1ReplicationController, V1ReplicationControllerSpec } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { validateLabels } from '../meta.js';
import { REPLICATION_CONTROLLERS } from '../resources.js';
import { formatLabels, labelSelectorString, selectorFromMap } from '../selectors.js';
import { defaultPodSpec } from './pod/defaults.js';
import { validatePodTemplate } from './pod/validate.js';
import { validateCounts } from './statusChecks.js';
import { containerColumns, replicaColumns, selectorColumn } from './workload.js';

export const replicationControllerKind: KindDefinition<V1ReplicationController> = {
  type: REPLICATION_CONTROLLERS,
  orphansByDefault: {},
  singular: 'replicationcontroller',
  shortNames: ['rc'],
  categories: ['all'],
  model: 'V1ReplicationController',
  hasStatus: true,
  scale: {
    replicas: ({ spec }) => spec?.replicas ?? 0,
    replicasPath: '.spec.replicas',
    statusReplicas: ({ status }) => status?.replicas ?? 0,
    selector: ({ spec }) => labelSelectorString({ matchLabels: spec?.selector }),
    setReplicas({ spec }, replicas) {
      if (spec !== undefined) spec.replicas = replicas;
    },
  },
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults({ metadata, spec }) {
    if (spec === undefined) return;
    spec.replicas ??= 1;
    const labels = spec.template?.metadata?.labels ?? {};
    if (Object.keys(labels).length > 0) {
      if (Object.keys(spec.selector ?? {}).length === 0) spec.selector = { ...labels };
      if (metadata !== undefined && Object.keys(metadata.labels ?? {}).length === 0)
        metadata.labels = { ...labels };
    }
    if (spec.template?.spec !== undefined) defaultPodSpec(spec.template.spec);
  },
  prepareForCreate(draft) {
    draft.status = { replicas: 0 };
  },
  validate: ({ spec, status }, old) => [
    ...validateCounts({ status }, old),
    ...validateController(spec ?? {}),
  ],
  columns: [
    nameColumn,
    ...replicaColumns<V1ReplicationController>(),
    ageColumn,
    ...containerColumns<V1ReplicationController>(({ spec }) => spec?.template),
    selectorColumn<V1ReplicationController>(({ spec }) => formatLabels(spec?.selector)),
  ],
  fields: ({ status }) => ({ 'status.replicas': String(status?.replicas ?? 0) }),
};

function validateController({
  selector = {},
  template,
  replicas,
  minReadySeconds,
}: V1ReplicationControllerSpec): Cause[] {
  const causes = [
    ...checkNotNegative('spec.minReadySeconds', minReadySeconds),
    ...(Object.keys(selector).length === 0
      ? [required('spec.selector')]
      : validateLabels(selector, 'spec.selector')),
    ...checkNotNegative('spec.replicas', replicas),
  ];
  if (template === undefined) return [...causes, required('spec.template')];
  const labels = template.metadata?.labels ?? {};
  if (Object.keys(selector).length > 0 && !selectorFromMap(selector)(labels))
    causes.push(
      invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`'),
    );
  return [...causes, ...validatePodTemplate(template, 'spec.template', 'ReplicationController')];
}
