// What becomes of an object whose owners are gone or going, and of an owner that waits for its dependents. Pure.
// Guarantees: an object with one owner left is never deleted; every deletion names the uid it means.
import type { V1OwnerReference } from '../../api/gen/types.js';
import type { KubeObject, Stored } from '../../api/object.js';

const FOREGROUND = 'foregroundDeletion';
export const ORPHAN = 'orphan';

export type OwnerState =
  /** There, and staying. */
  | 'solid'
  /** Gone: no object of that uid. */
  | 'absent'
  /** Being deleted, and waiting for its dependents. */
  | 'waiting';

interface ItemObserved {
  /** As the server has it now, not as a cache had it. */
  readonly item: Stored<KubeObject>;
  ownerState(owner: V1OwnerReference): OwnerState;
  /** Everything whose owner references name the item. */
  readonly dependents: readonly Stored<KubeObject>[];
}

type Propagation = 'Background' | 'Foreground' | 'Orphan';

export type ItemAction =
  | { readonly do: 'delete'; readonly propagationPolicy: Propagation }
  | { readonly do: 'setOwners'; readonly owners: readonly V1OwnerReference[] }
  | { readonly do: 'setFinalizers'; readonly finalizers: readonly string[] }
  /** Take the item out of this dependent's owner references. */
  | { readonly do: 'orphan'; readonly dependent: Stored<KubeObject> }
  /** The dependent waits for an owner that waits for it: let it no longer block. */
  | { readonly do: 'unblock'; readonly dependent: Stored<KubeObject> }
  /** Look at the dependent: it should go too. */
  | { readonly do: 'visit'; readonly dependent: Stored<KubeObject> };

export function isWaiting({ metadata }: Stored<KubeObject>): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(FOREGROUND);
}

export function planItem(observed: ItemObserved): ItemAction[] {
  const { metadata } = observed.item;
  if (metadata.deletionTimestamp !== undefined) return planGoing(observed);
  const owners = metadata.ownerReferences ?? [];
  if (owners.length === 0) return [];
  const states = owners.map((owner) => ({ owner, state: observed.ownerState(owner) }));
  const solid = states.filter(({ state }) => state === 'solid');
  if (solid.length === owners.length) return [];
  if (solid.length > 0) return [{ do: 'setOwners', owners: solid.map(({ owner }) => owner) }];
  const waited = states.some(({ state }) => state === 'waiting');
  if (waited && observed.dependents.length > 0) {
    // In a cycle each waits for the other; one of them has to stop blocking.
    const cyclic = observed.dependents.filter(
      (dependent) => isWaiting(dependent) && blocks(metadata.uid, dependent),
    );
    return [
      ...cyclic.map((dependent): ItemAction => ({ do: 'unblock', dependent })),
      { do: 'delete', propagationPolicy: 'Foreground' },
    ];
  }
  return [{ do: 'delete', propagationPolicy: policyOf(metadata.finalizers ?? []) }];
}

function planGoing({ item, dependents }: ItemObserved): ItemAction[] {
  const { finalizers = [], uid } = item.metadata;
  const without = (name: string): ItemAction => ({
    do: 'setFinalizers',
    finalizers: finalizers.filter((finalizer) => finalizer !== name),
  });
  if (finalizers.includes(ORPHAN))
    return [...dependents.map((dependent): ItemAction => ({ do: 'orphan', dependent })), without(ORPHAN)];
  if (!finalizers.includes(FOREGROUND)) return [];
  const blocking = dependents.filter((dependent) => blocks(uid, dependent));
  if (blocking.length === 0) return [without(FOREGROUND)];
  return dependents
    .filter((dependent) => !isWaiting(dependent))
    .map((dependent) => ({ do: 'visit', dependent }));
}

function blocks(ownerUid: string, { metadata }: Stored<KubeObject>): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion === true,
  );
}

/** A finalizer that is already there tells what the object's own user asked for. */
function policyOf(finalizers: readonly string[]): Propagation {
  if (finalizers.includes(ORPHAN)) return 'Orphan';
  return finalizers.includes(FOREGROUND) ? 'Foreground' : 'Background';
}

export function ownersWithout(
  { metadata }: Stored<KubeObject>,
  ownerUid: string,
): readonly V1OwnerReference[] {
  return (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== ownerUid);
}

export function ownersUnblocked(
  { metadata }: Stored<KubeObject>,
  ownerUid: string,
): readonly V1OwnerReference[] {
  return (metadata.ownerReferences ?? []).map((owner) =>
    owner.uid === ownerUid ? { ...owner, blockOwnerDeletion: false } : owner,
  );
}
