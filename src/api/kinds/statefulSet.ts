// StatefulSet: pods with a name and a volume of their own, replaced one after another. Pure.
// Guarantees: what its pods are known by (selector, service, claims) never changes.
import {
  type Cause,
  checkNotNegative,
  checkOneOf,
  forbiddenField,
  invalidValue,
  required,
} from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1StatefulSet, V1StatefulSetSpec } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { sameMeaning } from '../meaning.js';
import { STATEFUL_SETS } from '../resources.js';
import { isZero, validateIntOrPercent } from './intOrPercent.js';
import { validateCounts } from './statusChecks.js';
import { defaultClaimSpec } from './storage/claimSpec.js';
import { containerColumns, defaultWorkload, validateWorkload, workloadScale } from './workload.js';

const MUTABLE =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const RETENTIONS = ['Delete', 'Retain'];

export const statefulSetKind: KindDefinition<V1StatefulSet> = {
  type: STATEFUL_SETS,
  singular: 'statefulset',
  shortNames: ['sts'],
  categories: ['all'],
  model: 'V1StatefulSet',
  hasStatus: true,
  scale: workloadScale<V1StatefulSet>(),
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults({ spec }) {
    if (spec === undefined) return;
    defaultWorkload(spec);
    spec.podManagementPolicy ||= 'OrderedReady';
    spec.revisionHistoryLimit ??= 10;
    spec.updateStrategy ??= {};
    spec.updateStrategy.type ||= 'RollingUpdate';
    if (spec.updateStrategy.type === 'RollingUpdate') {
      spec.updateStrategy.rollingUpdate ??= {};
      spec.updateStrategy.rollingUpdate.partition ??= 0;
    }
    spec.persistentVolumeClaimRetentionPolicy ??= {};
    spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= 'Retain';
    spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= 'Retain';
    for (const claim of spec.volumeClaimTemplates ?? []) {
      claim.apiVersion = 'v1';
      claim.kind = 'PersistentVolumeClaim';
      claim.spec ??= {};
      defaultClaimSpec(claim.spec);
      claim.status ??= { phase: 'Pending' };
    }
  },
  prepareForCreate(draft) {
    draft.status = { replicas: 0 };
  },
  validate({ spec, status }, old) {
    const causes = [
      ...validateCounts({ status }, old, 'status.readyReplicas'),
      ...validateWorkload(withClaims(spec), undefined, 'statefulset', 'StatefulSet'),
      ...(spec === undefined ? [] : validateRollout(spec)),
    ];
    if (
      old?.spec !== undefined &&
      spec !== undefined &&
      !sameMeaning('V1StatefulSetSpec', frozen(spec), frozen(old.spec))
    )
      causes.push(forbiddenField('spec', MUTABLE));
    return causes;
  },
  columns: [
    nameColumn,
    column('Ready', ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`, {
      description: 'How many of its pods are ready.',
    }),
    ageColumn,
    ...containerColumns<V1StatefulSet>(({ spec }) => spec?.template),
  ],
};

/** Mounts may name a claim's template: the controller puts a volume of that name, or in the place of one, into each pod. */
function withClaims(spec: V1StatefulSetSpec | undefined): V1StatefulSetSpec | undefined {
  const { template, volumeClaimTemplates = [] } = spec ?? {};
  if (spec === undefined || template?.spec === undefined) return spec;
  const volumes = template.spec.volumes ?? [];
  const claims = volumeClaimTemplates
    .map(({ metadata }) => metadata?.name ?? '')
    .filter((name) => name !== '' && !volumes.some((volume) => volume.name === name))
    .map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  return { ...spec, template: { ...template, spec: { ...template.spec, volumes: [...volumes, ...claims] } } };
}

function frozen({
  podManagementPolicy,
  selector,
  serviceName,
  volumeClaimTemplates = [],
}: V1StatefulSetSpec) {
  return { podManagementPolicy, selector, serviceName, volumeClaimTemplates };
}

function validateRollout(spec: V1StatefulSetSpec): Cause[] {
  const { podManagementPolicy, updateStrategy = {}, persistentVolumeClaimRetentionPolicy: retention } = spec;
  const { type, rollingUpdate } = updateStrategy;
  const at = 'spec.updateStrategy';
  const causes: Cause[] = podManagementPolicy ? [] : [required('spec.podManagementPolicy')];
  if (podManagementPolicy && !['OrderedReady', 'Parallel'].includes(podManagementPolicy))
    causes.push(
      invalidValue('spec.podManagementPolicy', podManagementPolicy, "must be 'OrderedReady' or 'Parallel'"),
    );
  if (type === 'OnDelete' && rollingUpdate !== undefined)
    causes.push(
      invalidValue(`${at}.rollingUpdate`, rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'"),
    );
  else if (type !== 'OnDelete' && type !== 'RollingUpdate')
    causes.push(invalidValue(at, updateStrategy, "must be 'RollingUpdate' or 'OnDelete'"));
  else causes.push(...checkNotNegative(`${at}.rollingUpdate.partition`, rollingUpdate?.partition));
  const most = rollingUpdate?.maxUnavailable;
  if (most !== undefined) {
    const faults = validateIntOrPercent(most, `${at}.rollingUpdate.maxUnavailable`, { most: 100 });
    if (faults.length === 0 && isZero(most))
      faults.push(invalidValue(`${at}.rollingUpdate.maxUnavailable`, most, 'cannot be 0'));
    causes.push(...faults);
  }
  return [
    ...causes,
    ...checkOneOf(
      'spec.persistentVolumeClaimRetentionPolicy.whenDeleted',
      retention?.whenDeleted,
      RETENTIONS,
    ),
    ...checkOneOf('spec.persistentVolumeClaimRetentionPolicy.whenScaled', retention?.whenScaled, RETENTIONS),
    ...checkNotNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit),
    ...checkNotNegative('spec.ordinals.start', spec.ordinals?.start),
  ];
}
