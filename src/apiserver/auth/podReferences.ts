// The objects that a pod's node must read to run it: secrets, config maps, claims, the service account. Pure.
// Guarantees: nothing is named that the pod does not name, and nothing at all by a mirror pod, which its own node writes;
// what any other pod names anywhere is found.
import type { V1Container, V1EphemeralContainer, V1Pod, V1PodSpec, V1Volume } from '../../api/gen/types.js';

export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

export type ReferencedResource =
  | 'secrets'
  | 'configmaps'
  | 'persistentvolumeclaims'
  | 'resourceclaims'
  | 'serviceaccounts';

interface PodReference {
  readonly resource: ReferencedResource;
  readonly name: string;
}

export function isMirror({ metadata }: Pick<V1Pod, 'metadata'>): boolean {
  return metadata?.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

export function referencesOf(pod: V1Pod): readonly PodReference[] {
  if (pod.spec === undefined || isMirror(pod)) return [];
  return [
    ...named('serviceaccounts', [pod.spec.serviceAccountName]),
    ...objectsOf(pod.spec),
    ...named('persistentvolumeclaims', claimsOf(pod)),
    ...named('resourceclaims', resourceClaimsOf(pod)),
  ];
}

/** The secrets and config maps of a pod, mirror or not. */
export function objectsOf(spec: V1PodSpec): readonly PodReference[] {
  const containers = [
    ...(spec.containers ?? []),
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  return [
    ...named(
      'secrets',
      (spec.imagePullSecrets ?? []).map(({ name }) => name),
    ),
    ...containers.flatMap(objectsOfContainer),
    ...(spec.volumes ?? []).flatMap(objectsOfVolume),
  ];
}

function objectsOfContainer({ env = [], envFrom = [] }: V1Container | V1EphemeralContainer): PodReference[] {
  return [
    ...named('secrets', [
      ...envFrom.map((from) => from.secretRef?.name),
      ...env.map((one) => one.valueFrom?.secretKeyRef?.name),
    ]),
    ...named('configmaps', [
      ...envFrom.map((from) => from.configMapRef?.name),
      ...env.map((one) => one.valueFrom?.configMapKeyRef?.name),
    ]),
  ];
}

function objectsOfVolume(volume: V1Volume): PodReference[] {
  const sources = volume.projected?.sources ?? [];
  return [
    ...named('secrets', [
      volume.secret?.secretName,
      volume.azureFile?.secretName,
      volume.csi?.nodePublishSecretRef?.name,
      volume.cephfs?.secretRef?.name,
      volume.cinder?.secretRef?.name,
      volume.rbd?.secretRef?.name,
      volume.iscsi?.secretRef?.name,
      volume.flexVolume?.secretRef?.name,
      volume.scaleIO?.secretRef?.name,
      volume.storageos?.secretRef?.name,
      ...sources.map((source) => source.secret?.name),
    ]),
    ...named('configmaps', [volume.configMap?.name, ...sources.map((source) => source.configMap?.name)]),
  ];
}

/** An ephemeral volume's claim is called after the pod and the volume. */
function claimsOf({ metadata, spec }: V1Pod): readonly (string | undefined)[] {
  return (spec?.volumes ?? []).map((volume) =>
    volume.ephemeral == null ? volume.persistentVolumeClaim?.claimName : `${metadata?.name}-${volume.name}`,
  );
}

/** A claim that is made of a template has its name in the status, which no node may write. */
function resourceClaimsOf({ spec, status }: V1Pod): readonly (string | undefined)[] {
  const made = new Map(
    (status?.resourceClaimStatuses ?? []).map(({ name, resourceClaimName }) => [name, resourceClaimName]),
  );
  return [
    ...(spec?.resourceClaims ?? []).map(({ name, resourceClaimName }) => resourceClaimName ?? made.get(name)),
    status?.extendedResourceClaimStatus?.resourceClaimName,
  ];
}

function named(resource: ReferencedResource, names: readonly (string | undefined)[]): PodReference[] {
  return names.flatMap((name) => (name ? [{ resource, name }] : []));
}
