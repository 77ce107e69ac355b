// What a mirror pod may not name. Its node writes it, so whatever it named would be open to that node. Pure.
// Guarantees: a kind of volume that is not known here counts as one that names something.
import type { V1Pod, V1Volume, V1VolumeProjection } from '../../api/gen/types.js';
import { objectsOf } from '../auth/podReferences.js';

/** What of the API the pod refers to, in Kubernetes' words; undefined when nothing. */
export function apiReferenceOf({ spec }: V1Pod): string | undefined {
  if (spec === undefined) return undefined;
  if ((spec.serviceAccountName ?? '') !== '') return 'serviceaccounts';
  const objects = objectsOf(spec).map(({ resource }) => resource);
  for (const resource of ['secrets', 'configmaps'] as const) if (objects.includes(resource)) return resource;
  if ((spec.resourceClaims ?? []).length > 0) return 'resourceclaims';
  for (const volume of spec.volumes ?? []) {
    const found = referenceOfVolume(volume);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Volumes that need nothing of the API. */
const LOCAL: readonly (keyof V1Volume)[] = [
  ...(['awsElasticBlockStore', 'azureDisk', 'cephfs', 'cinder', 'downwardAPI', 'emptyDir', 'fc'] as const),
  ...([
    'flexVolume',
    'flocker',
    'gcePersistentDisk',
    'gitRepo',
    'hostPath',
    'image',
    'iscsi',
    'nfs',
  ] as const),
  ...(['photonPersistentDisk', 'portworxVolume', 'quobyte', 'rbd', 'scaleIO', 'storageos'] as const),
  'vsphereVolume',
];
const NAMING: readonly (readonly [keyof V1Volume, string])[] = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
];
const NAMING_SOURCES: readonly (readonly [keyof V1VolumeProjection, string])[] = [
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
];

function referenceOfVolume(volume: V1Volume): string | undefined {
  if (LOCAL.some((kind) => volume[kind] != null)) return undefined;
  const named = NAMING.find(([kind]) => volume[kind] != null);
  if (named !== undefined) return named[1];
  if (volume.projected == null) return `objects by unknown volume type for volume "${volume.name}"`;
  for (const source of volume.projected.sources ?? []) {
    const naming = NAMING_SOURCES.find(([kind]) => source[kind] != null);
    if (naming !== undefined) return naming[1];
    if (source.downwardAPI == null) return `objects by unknown source for projected volume "${volume.name}"`;
  }
  return undefined;
}
