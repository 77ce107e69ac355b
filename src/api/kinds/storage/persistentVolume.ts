// PersistentVolume: a piece of storage that exists, and who has it. Pure.
// Guarantees: it has exactly one source, which never changes.
import {
  type Cause,
  checkImmutable,
  checkName,
  checkOneOf,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from '../../causes.js';
import { ageColumn, column, nameColumn } from '../../columns.js';
import type { V1PersistentVolume, V1PersistentVolumeSpec, V1VolumeNodeAffinity } from '../../gen/types.js';
import type { KindDefinition } from '../../kind.js';
import { sameMeaning } from '../../meaning.js';
import { dnsSubdomain } from '../../names.js';
import { PERSISTENT_VOLUMES } from '../../resources.js';
import { validateNodeSelector } from '../pod/affinity.js';
import { hasBacksteps } from '../pod/volumes.js';
import { defaultSources } from '../volumeDefaults.js';
import { shortAccessModes, VOLUME_MODES, validateAccessModes } from './accessModes.js';
import { validateStorage } from './claimSpec.js';

const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain'];
/** What a spec has besides its source. */
const COMMON = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);

export const persistentVolumeKind: KindDefinition<V1PersistentVolume> = {
  type: PERSISTENT_VOLUMES,
  singular: 'persistentvolume',
  shortNames: ['pv'],
  categories: [],
  model: 'V1PersistentVolume',
  hasStatus: true,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults({ spec }) {
    if (spec === undefined) return;
    spec.persistentVolumeReclaimPolicy ||= 'Retain';
    spec.volumeMode ??= 'Filesystem';
    defaultSources(spec);
  },
  prepareForCreate(draft, { time }) {
    draft.status = { phase: 'Pending', lastPhaseTransitionTime: time };
  },
  prepareForUpdate(draft, old, { subresource, time }) {
    if (subresource !== 'status' || draft.status === undefined) return;
    if (draft.status.phase !== old.status?.phase) draft.status.lastPhaseTransitionTime = time;
  },
  validate: ({ spec = {} }, old) => [
    ...validateVolume(spec),
    ...(old?.spec === undefined ? [] : validateUpdate(spec, old.spec)),
  ],
  columns: [
    nameColumn,
    column('Capacity', ({ spec }) => spec?.capacity?.['storage'] ?? '', { description: 'The room it has.' }),
    column('Access Modes', ({ spec }) => shortAccessModes(spec?.accessModes), {
      description: 'How it may be mounted.',
    }),
    column('Reclaim Policy', ({ spec }) => spec?.persistentVolumeReclaimPolicy ?? '', {
      description: 'What becomes of it after its claim.',
    }),
    column(
      'Status',
      ({ metadata, status }) => (metadata?.deletionTimestamp ? 'Terminating' : (status?.phase ?? '')),
      {
        description: 'Whether it is free.',
      },
    ),
    column('Claim', claimCell, { description: 'The claim that has it.' }),
    column('StorageClass', ({ spec }) => spec?.storageClassName ?? '', {
      description: 'The class it is of.',
    }),
    column('VolumeAttributesClass', ({ spec }) => spec?.volumeAttributesClassName || '<unset>', {
      description: 'The class that its attributes come from.',
    }),
    column('Reason', ({ status }) => status?.reason ?? '', { description: 'Why it is in that state.' }),
    ageColumn,
    column('VolumeMode', ({ spec }) => spec?.volumeMode ?? '<unset>', {
      description: 'A file system or a block device.',
      wide: true,
    }),
  ],
};

function claimCell({ spec }: V1PersistentVolume): string {
  const { namespace = '', name = '' } = spec?.claimRef ?? {};
  return spec?.claimRef === undefined ? '' : `${namespace}/${name}`;
}

function sourceOf(spec: V1PersistentVolumeSpec): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(spec).filter(([key, value]) => !COMMON.has(key) && value !== undefined),
  );
}

/** Also of a VolumeAttachment's inline volume. */
export function validateVolume(spec: V1PersistentVolumeSpec): Cause[] {
  const { capacity = {}, persistentVolumeReclaimPolicy: policy, storageClassName, nodeAffinity } = spec;
  const causes = validateAccessModes(spec.accessModes ?? [], 'spec.accessModes');
  const amounts = Object.keys(capacity);
  if (amounts.length === 0) causes.push(required('spec.capacity'));
  if (amounts.length !== 1 || amounts[0] !== 'storage')
    causes.push(notSupported('spec.capacity', spec.capacity ?? null, ['storage']));
  else causes.push(...validateStorage(capacity['storage'], 'spec.capacity[storage]'));
  causes.push(
    ...(policy
      ? checkOneOf('spec.persistentVolumeReclaimPolicy', policy, RECLAIM_POLICIES)
      : [required('spec.persistentVolumeReclaimPolicy')]),
  );
  causes.push(...validateSource(spec));
  if (storageClassName) causes.push(...checkName('spec.storageClassName', storageClassName, dnsSubdomain));
  return [
    ...causes,
    ...checkOneOf('spec.volumeMode', spec.volumeMode, VOLUME_MODES),
    ...(nodeAffinity === undefined ? [] : validateNodes(nodeAffinity, 'spec.nodeAffinity.required')),
  ];
}

function validateNodes({ required: nodes }: V1VolumeNodeAffinity, at: string): Cause[] {
  return nodes === undefined
    ? [required(at, 'must specify required node constraints')]
    : validateNodeSelector(nodes, at);
}

function validateSource(spec: V1PersistentVolumeSpec): Cause[] {
  const sources = Object.keys(sourceOf(spec));
  if (sources.length === 0) return [required('spec', 'must specify a volume type')];
  const causes: Cause[] = sources
    .slice(1)
    .map((source) => forbiddenField(`spec.${source}`, 'may not specify more than 1 volume type'));
  const { hostPath, local, nfs, csi } = spec;
  if (hostPath !== undefined) {
    causes.push(...validatePath(hostPath.path, 'spec.hostPath.path'));
    if (hostPath.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle')
      causes.push(forbiddenField('spec.hostPath.path', "may not be '/' for a reclaim policy of 'Recycle'"));
  }
  if (local !== undefined) {
    causes.push(...validatePath(local.path, 'spec.local.path'));
    if (spec.nodeAffinity === undefined)
      causes.push(required('spec.nodeAffinity', 'Local volume requires node affinity'));
  }
  if (nfs !== undefined) {
    if (!nfs.server) causes.push(required('spec.nfs.server'));
    if (!nfs.path) causes.push(required('spec.nfs.path'));
    else if (!nfs.path.startsWith('/'))
      causes.push(invalidValue('spec.nfs.path', nfs.path, 'must be an absolute path'));
  }
  if (csi !== undefined) {
    if (!csi.driver) causes.push(required('spec.csi.driver'));
    if (!csi.volumeHandle) causes.push(required('spec.csi.volumeHandle'));
  }
  return causes;
}

function validatePath(path: string | undefined, at: string): Cause[] {
  if (!path) return [required(at)];
  return hasBacksteps(path) ? [invalidValue(at, path, "must not contain '..'")] : [];
}

function validateUpdate(spec: V1PersistentVolumeSpec, old: V1PersistentVolumeSpec): Cause[] {
  const causes: Cause[] = [];
  if (!sameMeaning('V1PersistentVolumeSpec', sourceOf(spec), sourceOf(old)))
    causes.push(
      forbiddenField(
        'spec.persistentvolumesource',
        'spec.persistentvolumesource is immutable after creation',
      ),
    );
  causes.push(
    ...checkImmutable(
      'spec.volumeMode',
      'V1PersistentVolumeSpec.volumeMode',
      spec.volumeMode,
      old.volumeMode,
    ),
  );
  if (old.nodeAffinity !== undefined)
    causes.push(
      ...checkImmutable(
        'spec.nodeAffinity',
        'V1PersistentVolumeSpec.nodeAffinity',
        spec.nodeAffinity,
        old.nodeAffinity,
      ),
    );
  return causes;
}
