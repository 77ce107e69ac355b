// ReplicaSet: a number of equal pods. Pure.
// Guarantees: a new one has no pods yet, whatever status was sent; its selector finds its template's pods.
import { ageColumn, nameColumn } from '../columns.js';
import type { V1ReplicaSet } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { REPLICA_SETS } from '../resources.js';
import { validateCounts } from './statusChecks.js';
import {
  defaultWorkload,
  replicaColumns,
  templateColumns,
  validateWorkload,
  workloadScale,
} from './workload.js';

export const replicaSetKind: KindDefinition<V1ReplicaSet> = {
  type: REPLICA_SETS,
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  model: 'V1ReplicaSet',
  hasStatus: true,
  scale: workloadScale<V1ReplicaSet>(),
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    if (draft.spec !== undefined) defaultWorkload(draft.spec);
  },
  prepareForCreate(draft) {
    draft.status = { replicas: 0 };
  },
  validate: ({ spec, status }, old) => [
    ...validateCounts({ status }, old),
    ...validateWorkload(spec, old?.spec, 'deployment'),
  ],
  columns: [nameColumn, ...replicaColumns<V1ReplicaSet>(), ageColumn, ...templateColumns<V1ReplicaSet>()],
  fields: ({ status }) => ({ 'status.replicas': String(status?.replicas ?? 0) }),
};
