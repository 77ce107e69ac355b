// How large each ReplicaSet of a Deployment shall be next: rolling update, scaling, recreation. Pure.
// Guarantees: the pods that the sets may make never exceed desired + maxSurge; availability is not spent below
// desired - maxUnavailable; one step at a time, each safe with what the sets have reported.
import { fencepostsOf } from './fenceposts.js';
import { byAge, type Deployment, MAX_REPLICAS, type ReplicaSet, replicasOf } from './replicaSets.js';

export interface Sized {
  readonly deployment: Deployment;
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

export interface Resize {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

/**
 * The pods a set may have or still make. Its controller may act on a wish that was withdrawn, until it has
 * reported the newest generation; before that no number is safe.
 */
function podCeiling(set: ReplicaSet): number {
  return isObserved(set) ? Math.max(replicasOf(set), set.status?.replicas ?? 0) : Infinity;
}

function isObserved({ status, metadata }: ReplicaSet): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

const sum = (sets: readonly ReplicaSet[], of: (set: ReplicaSet) => number) =>
  sets.reduce((total, set) => total + of(set), 0);

/** Pods beyond the wished size are about to go: they are no longer there to be counted on. */
const availableOf = (set: ReplicaSet) => Math.min(set.status?.availableReplicas ?? 0, replicasOf(set));
const isInUse = (set: ReplicaSet) => replicasOf(set) > 0;

/** The size that the new set may have now, beside the old ones. */
export function newSetSize({ deployment, current, old }: Sized): number {
  const { desired, maxSurge } = fencepostsOf(deployment);
  const present = current === undefined ? 0 : replicasOf(current);
  if (present >= desired) return desired;
  const room = desired + maxSurge - sum(old, podCeiling);
  return Math.max(present, Math.min(desired, room));
}

/** The next step of a rolling update: first the new set grows; when it cannot, old ones shrink. */
export function rollingStep(sized: Sized): Resize[] {
  const { current } = sized;
  if (current !== undefined) {
    const replicas = newSetSize(sized);
    if (replicas !== replicasOf(current)) return [{ set: current, replicas }];
  }
  return shrinkOld(sized);
}

function shrinkOld({ deployment, current, old }: Sized): Resize[] {
  const { desired, maxUnavailable } = fencepostsOf(deployment);
  const inUse = old.filter(isInUse).sort(byAge);
  const all = current === undefined ? inUse : [...inUse, current];
  // A set that has not acted on its newest size may still delete pods that its status counts.
  if (!all.every(isObserved)) return [];
  const minAvailable = desired - maxUnavailable;
  // New pods that are not available yet are already unavailable: their number is not there to be spent again.
  const newUnavailable = current === undefined ? 0 : Math.max(0, replicasOf(current) - availableOf(current));
  const spare = sum(all, replicasOf) - minAvailable - newUnavailable;
  if (spare <= 0) return [];
  const sizes = new Map(inUse.map((set) => [set, replicasOf(set)]));
  const shrink = (set: ReplicaSet, by: number) => sizes.set(set, (sizes.get(set) ?? 0) - by);
  let cleaned = 0;
  for (const set of inUse) {
    const broken = Math.max(0, replicasOf(set) - availableOf(set));
    const by = Math.min(spare - cleaned, broken);
    shrink(set, by);
    cleaned += by;
  }
  let surplus = Math.min(spare - cleaned, sum(all, availableOf) - minAvailable);
  for (const set of inUse) {
    const by = Math.max(0, Math.min(surplus, sizes.get(set) ?? 0));
    shrink(set, by);
    surplus -= by;
  }
  return [...sizes]
    .filter(([set, replicas]) => replicas !== replicasOf(set))
    .map(([set, replicas]) => ({ set, replicas }));
}

/** Recreate: all old ones to nothing; `undefined` while their pods still live, so that nothing new is made. */
export function recreateStep({ deployment, current, old }: Sized, oldPods: number): Resize[] | undefined {
  const shrinking = old.filter(isInUse).map((set) => ({ set, replicas: 0 }));
  if (shrinking.length > 0) return shrinking;
  if (oldPods > 0) return undefined;
  const { desired } = fencepostsOf(deployment);
  return current === undefined || replicasOf(current) === desired
    ? []
    : [{ set: current, replicas: desired }];
}

/** The user changed the number of replicas, perhaps in the middle of an update: every set takes its share. */
export function scaleStep(sized: Sized, rolling: boolean): Resize[] {
  const { deployment, current, old } = sized;
  const { desired, maxSurge } = fencepostsOf(deployment);
  const all = current === undefined ? old : [...old, current];
  const inUse = all.filter(isInUse);
  if (inUse.length <= 1) {
    const only = inUse[0] ?? current ?? [...old].sort(byAge).at(-1);
    return only === undefined ? [] : [{ set: only, replicas: desired }];
  }
  if (current !== undefined && isSaturated(current, desired))
    return old.filter(isInUse).map((set) => ({ set, replicas: 0 }));
  if (!rolling) return [];
  const allowed = desired > 0 ? desired + maxSurge : 0;
  const toRemove = Math.min(0, allowed - sum(inUse, replicasOf));
  const toAdd = Math.max(0, allowed - sum(inUse, podCeiling));
  return shareOut(deployment, inUse, toRemove < 0 ? toRemove : toAdd);
}

function isSaturated(set: ReplicaSet, desired: number): boolean {
  return replicasOf(set) === desired && availableOf(set) === desired;
}

function shareOut(deployment: Deployment, sets: readonly ReplicaSet[], toAdd: number): Resize[] {
  const bySize = [...sets].sort(
    (a, b) => replicasOf(b) - replicasOf(a) || (toAdd > 0 ? byAge(b, a) : byAge(a, b)),
  );
  let left = toAdd;
  const shares = bySize.map((set) => {
    const exact = fractionOf(deployment, set);
    const share = toAdd > 0 ? Math.max(0, Math.min(exact, left)) : Math.min(0, Math.max(exact, left));
    left -= share;
    return { set, replicas: replicasOf(set) + share };
  });
  // What rounding left over goes to the largest.
  return shares.map(({ set, replicas }, index) => ({
    set,
    replicas: Math.max(0, index === 0 ? replicas + left : replicas),
  }));
}

function fractionOf(deployment: Deployment, set: ReplicaSet): number {
  const { desired, maxSurge } = fencepostsOf(deployment);
  const size = replicasOf(set);
  if (desired === 0) return -size;
  const annotated = Number(set.metadata.annotations?.[MAX_REPLICAS]);
  const before = annotated > 0 ? annotated : (deployment.status?.replicas ?? 0);
  return before > 0 ? Math.round((size * (desired + maxSurge)) / before) - size : 0;
}
