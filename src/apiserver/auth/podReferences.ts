// The objects that a pod's node must read to run it: secrets, config maps, claims, the service account. Pure.
// Guarantees: nothing is named that the pod does not name; what the pod names anywhere is found.
import type { V1Container, V1EphemeralContainer, V1PodSpec, V1Volume } from '../../api/gen/types.js';

export type ReferencedResource = 'secrets' | 'configmaps' | 'persistentvolumeclaims' | 'serviceaccounts';

export interface PodReference {
  readonly resource: ReferencedResource;
  readonly name: string;
}

export function referencesOf(spec: V1PodSpec): readonly PodReference[] {
  const containers = [
    ...spec.containers,
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  const found = [
    { resource: 'serviceaccounts' as const, name: spec.serviceAccountName || 'default' },
    ...(spec.imagePullSecrets ?? []).map(({ name = '' }) => ({ resource: 'secrets' as const, name })),
    ...containers.flatMap(referencesOfContainer),
    ...(spec.volumes ?? []).flatMap(referencesOfVolume),
  ];
  return found.filter(({ name }) => name !== '');
}

function referencesOfContainer({
  env = [],
  envFrom = [],
}: V1Container | V1EphemeralContainer): PodReference[] {
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

function referencesOfVolume(volume: V1Volume): PodReference[] {
  const sources = volume.projected?.sources ?? [];
  return [
    ...named('secrets', [
      volume.secret?.secretName,
      volume.csi?.nodePublishSecretRef?.name,
      volume.cephfs?.secretRef?.name,
      volume.rbd?.secretRef?.name,
      volume.iscsi?.secretRef?.name,
      volume.flexVolume?.secretRef?.name,
      ...sources.map((source) => source.secret?.name),
    ]),
    ...named('configmaps', [volume.configMap?.name, ...sources.map((source) => source.configMap?.name)]),
    ...named('persistentvolumeclaims', [volume.persistentVolumeClaim?.claimName]),
  ];
}

function named(resource: ReferencedResource, names: readonly (string | undefined)[]): PodReference[] {
  return names.flatMap((name) => (name === undefined ? [] : [{ resource, name }]));
}
