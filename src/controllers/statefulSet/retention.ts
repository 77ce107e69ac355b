// Who owns the volume claims of a StatefulSet, by its retention policy: that decides who is deleted with whom. Pure.
// Guarantees: Retain leaves claims to nobody; only references to the set and to its pods are ever changed; a
// claim that another controller has is left to it.
import type { V1OwnerReference } from '../../api/gen/types.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { sameJson } from '../../api/ownKeys.js';
import { apiVersionOf, PODS, type ResourceType, STATEFUL_SETS } from '../../api/resources.js';
import { controllerReference } from '../claim.js';
import type { Pod } from '../pods.js';
import type { PersistentVolumeClaim, StatefulSet } from './identity.js';

interface ClaimObserved {
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
  const ours = present.filter((owner) => isOf(owner, STATEFUL_SETS, set) || isOf(owner, PODS, pod));
  const uids = [set.metadata.uid, pod?.metadata.uid];
  // Of an earlier set or pod of the name, which is gone: the claim goes with it.
  if (ours.some(({ uid }) => !uids.includes(uid))) return undefined;
  const wanted = present.filter((owner) => !ours.includes(owner));
  // An object has one controller: where somebody else is, no policy of ours can be carried out.
  const isTheirs = wanted.some(({ controller }) => controller === true);
  if (bySet && !isTheirs) wanted.push(controllerReference(STATEFUL_SETS, set));
  if (byPod && !isTheirs && pod !== undefined) wanted.push(controllerReference(PODS, pod));
  const identify = (owners: readonly V1OwnerReference[]) =>
    owners.map(({ uid, controller = false }) => `${uid} ${controller}`).sort();
  return sameJson(identify(present), identify(wanted)) ? undefined : wanted;
}

const isOf = (
  { apiVersion, kind, name }: V1OwnerReference,
  type: ResourceType,
  object: Stored<KubeObject> | undefined,
): boolean => apiVersion === apiVersionOf(type) && kind === type.kind && name === object?.metadata.name;

/** Left by an earlier pod of the name and about to be deleted with it: a new pod must not mount it. */
export function isStale({ metadata }: PersistentVolumeClaim, podName: string, pod: Pod | undefined): boolean {
  if (metadata.deletionTimestamp !== undefined) return true;
  return (metadata.ownerReferences ?? []).some(
    ({ kind, name, uid }) => kind === 'Pod' && name === podName && uid !== pod?.metadata.uid,
  );
}
