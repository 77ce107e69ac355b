// PersistentVolumeClaim: a request for storage, bound to one volume. Pure.
// Guarantees: a bound claim may grow and take another attributes class; nothing else of its spec changes.
import { type Cause, forbiddenField } from '../../causes.js';
import { ageColumn, column, nameColumn } from '../../columns.js';
import type { V1PersistentVolumeClaim, V1PersistentVolumeClaimSpec } from '../../gen/types.js';
import { internalDiff } from '../../internalForm.js';
import type { Draft, KindDefinition } from '../../kind.js';
import { sameMeaning } from '../../meaning.js';
import { compareQuantities, tryParseQuantity } from '../../quantity.js';
import { PERSISTENT_VOLUME_CLAIMS } from '../../resources.js';
import { isNewStatus } from '../statusChecks.js';
import { shortAccessModes } from './accessModes.js';
import { defaultClaimSpec, validateClaimSpec } from './claimSpec.js';
import { validateClaimStatus } from './claimStatus.js';

const IMMUTABLE_SPEC =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

export const persistentVolumeClaimKind: KindDefinition<V1PersistentVolumeClaim> = {
  type: PERSISTENT_VOLUME_CLAIMS,
  singular: 'persistentvolumeclaim',
  shortNames: ['pvc'],
  categories: [],
  model: 'V1PersistentVolumeClaim',
  hasStatus: true,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.spec ??= {};
    defaultClaimSpec(draft.spec);
    joinSources(draft.spec);
  },
  prepareForCreate(draft) {
    draft.status = { phase: 'Pending' };
  },
  validate: (claim, old) => [
    ...validateClaimSpec(claim.spec ?? {}, 'spec'),
    ...(old?.spec === undefined ? [] : validateUpdate(claim.spec ?? {}, old)),
    ...(isNewStatus(claim, old) ? validateClaimStatus(claim.status ?? {}) : []),
  ],
  columns: [
    nameColumn,
    column(
      'Status',
      ({ metadata, status }) => (metadata?.deletionTimestamp ? 'Terminating' : (status?.phase ?? '')),
      {
        description: 'Pending, Bound or Lost.',
      },
    ),
    column('Volume', ({ spec }) => spec?.volumeName ?? '', { description: 'The volume it is bound to.' }),
    column(
      'Capacity',
      ({ spec, status }) => (spec?.volumeName ? (status?.capacity?.['storage'] ?? '') : ''),
      {
        description: 'The room that volume has.',
      },
    ),
    column(
      'Access Modes',
      ({ spec, status }) => (spec?.volumeName ? shortAccessModes(status?.accessModes) : ''),
      { description: 'How the volume may be mounted.' },
    ),
    column('StorageClass', ({ spec }) => spec?.storageClassName ?? '', {
      description: 'The class that its volume comes from.',
    }),
    column('VolumeAttributesClass', ({ spec }) => spec?.volumeAttributesClassName || '<unset>', {
      description: 'The class that its attributes come from.',
    }),
    ageColumn,
    column('VolumeMode', ({ spec }) => spec?.volumeMode ?? '<unset>', {
      description: 'A file system or a block device.',
      wide: true,
    }),
  ],
};

/** The two ways to name a source say the same, so that readers may look at either. */
function joinSources(spec: Draft<V1PersistentVolumeClaimSpec>): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource !== undefined && dataSourceRef === undefined) spec.dataSourceRef = { ...dataSource };
  else if (dataSource === undefined && dataSourceRef !== undefined && !dataSourceRef.namespace)
    spec.dataSource = { ...dataSourceRef };
}

function validateUpdate(spec: V1PersistentVolumeClaimSpec, old: V1PersistentVolumeClaim): Cause[] {
  const before = old.spec ?? {};
  const isBound = old.status?.phase === 'Bound';
  const causes: Cause[] = [];
  const wanted = frozen(spec, before, isBound);
  if (!sameMeaning('V1PersistentVolumeClaimSpec', wanted, before))
    causes.push(
      forbiddenField(
        'spec',
        `${IMMUTABLE_SPEC}\n${internalDiff('V1PersistentVolumeClaimSpec', before, wanted)}`,
      ),
    );
  const size = spec.resources?.requests?.['storage'];
  const was = before.resources?.requests?.['storage'];
  const actual = old.status?.capacity?.['storage'];
  const isShrunk =
    size !== undefined &&
    was !== undefined &&
    tryParseQuantity(size) !== undefined &&
    compareQuantities(size, was) < 0;
  // Down to what the volume really has: an expansion that failed may be taken back.
  if (isShrunk && (actual === undefined || compareQuantities(size, actual) <= 0))
    causes.push(
      forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity'),
    );
  return causes;
}

/** The spec as if what may change had not. */
function frozen(spec: V1PersistentVolumeClaimSpec, old: V1PersistentVolumeClaimSpec, isBound: boolean) {
  return {
    ...spec,
    // The binder writes the name once.
    ...(old.volumeName ? {} : { volumeName: old.volumeName }),
    // A class may be given to a claim that waits for one.
    ...(old.storageClassName === undefined ? { storageClassName: undefined } : {}),
    ...(isBound
      ? {
          resources: { ...spec.resources, requests: old.resources?.requests },
          volumeAttributesClassName: old.volumeAttributesClassName,
        }
      : {}),
  };
}
