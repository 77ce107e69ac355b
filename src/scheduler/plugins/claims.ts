// A pod's persistent volume claims, and what each of them means for the choice of a node. Pure.
import type { PodInfo } from '../podInfo.js';
import type { Catalog, Claim, Volume } from '../snapshot/catalog.js';

/** The names of the claims that a pod uses; an ephemeral volume has one made for it. */
export function claimNames({ pod, spec }: PodInfo): readonly ClaimName[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }): ClaimName[] => {
    if (persistentVolumeClaim !== undefined)
      return [{ name: persistentVolumeClaim.claimName, ephemeral: false }];
    return ephemeral === undefined ? [] : [{ name: `${pod.metadata.name}-${name}`, ephemeral: true }];
  });
}

interface ClaimName {
  readonly name: string;
  readonly ephemeral: boolean;
}

export function isBound({ spec, status, metadata }: Claim): boolean {
  const isComplete = metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined;
  return Boolean(spec.volumeName) && (isComplete || status.phase === 'Bound');
}

/** Whether the volume is to be chosen, or made, with the node. */
export function waitsForNode({ spec }: Claim, catalog: Catalog): boolean {
  return catalog.storageClass(spec.storageClassName ?? '')?.volumeBindingMode === 'WaitForFirstConsumer';
}

/** The volumes that the pod's claims are bound to, as far as they exist. */
export function boundVolumes(pod: PodInfo, catalog: Catalog): readonly Volume[] {
  return claimNames(pod).flatMap(({ name }) => {
    const claim = catalog.claim(pod.namespace, name);
    if (claim === undefined || !isBound(claim)) return [];
    return catalog.volume(claim.spec.volumeName ?? '') ?? [];
  });
}
