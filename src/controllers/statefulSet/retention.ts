// Who owns the volume claims of a StatefulSet, by its retention policy: that decides who is deleted with whom. Pure.
// Guarantees: Retain leaves claims to nobody; only references to the set and to its pods are ever changed.
import type { V1OwnerReference } from '../../api/gen/types.js';
import { sameJson } from '../../api/own.js';
import type { Pod } from '../pods.js';
import type { PersistentVolumeClaim, StatefulSet } from './identity.js';

export interface ClaimObserved {
  readonly set: StatefulSet;
  readonly claim: PersistentVolumeClaim;
  /** The pod that mounts it, if it is there. */
  readonly pod: Pod | undefined;
  /** The set was scaled below this pod. */
  readonly isCondemned: boolean;
}

/** The references that the claim must have; undefined when it has them. */
export function claimOwners(observed: ClaimObserved): readonly V1OwnerReference[] | undefined {
  const { set, claim, pod, isCondemned } = observed;
  const { whenDeleted = 'Retain', whenScaled = 'Retain' } =
    set.spec.persistentVolumeClaimRetentionPolicy ?? {};
  const byPod = whenScaled === 'Delete' && isCondemned;
  const bySet = whenDeleted === 'Delete' && !byPod;
  const present = claim.metadata.ownerReferences ?? [];
  const others = present.filter(({ kind, apiVersion, name, uid }) => {
    if (uid === set.metadata.uid) return false;
    return !(
      kind === 'Pod' &&
      apiVersion === 'v1' &&
      (uid === pod?.metadata.uid || name === pod?.metadata.name)
    );
  });
  const wanted: V1OwnerReference[] = [...others];
  if (bySet)
    wanted.push({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      name: set.metadata.name,
      uid: set.metadata.uid,
    });
  if (byPod && pod !== undefined)
    wanted.push({ apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid });
  const identify = (owners: readonly V1OwnerReference[]) => owners.map(({ uid }) => uid).sort();
  return sameJson(identify(present), identify(wanted)) ? undefined : wanted;
}

/** Left by an earlier pod of the name and about to be deleted with it: a new pod must not mount it. */
export function isStale({ metadata }: PersistentVolumeClaim, podName: string, pod: Pod | undefined): boolean {
  if (metadata.deletionTimestamp !== undefined) return true;
  return (metadata.ownerReferences ?? []).some(
    ({ kind, name, uid }) => kind === 'Pod' && name === podName && uid !== pod?.metadata.uid,
  );
}
