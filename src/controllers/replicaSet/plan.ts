// How many pods a ReplicaSet must make, or which it must delete. Pure.
// Guarantees: never both at once; never more than 500 in one go; only active pods count.
import type { V1ReplicaSet } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { isActive, type Pod } from '../pods.js';
import { rankForDeletion } from './rank.js';

/** As in Kubernetes: a huge wish is met in several rounds. */
const BURST = 500;

interface ReplicaSetObserved {
  readonly set: Stored<V1ReplicaSet>;
  readonly pods: readonly Pod[];
  /** Pods of its siblings too (other ReplicaSets of its Deployment), for spreading deletions over nodes: else not asked for. */
  readonly family: readonly Pod[];
  readonly now: number;
}

type ReplicaSetAction =
  | { readonly do: 'createPods'; readonly count: number }
  | { readonly do: 'deletePods'; readonly pods: readonly Pod[] };

export function planReplicaSet(observed: ReplicaSetObserved): ReplicaSetAction[] {
  const { set, pods, now } = observed;
  if (set.metadata.deletionTimestamp !== undefined) return [];
  const active = pods.filter(isActive);
  const missing = (set.spec.replicas ?? 1) - active.length;
  if (missing > 0) return [{ do: 'createPods', count: Math.min(missing, BURST) }];
  if (missing === 0) return [];
  const onNode = new Map<string, number>();
  for (const { spec } of observed.family.filter(isActive))
    if (spec.nodeName) onNode.set(spec.nodeName, (onNode.get(spec.nodeName) ?? 0) + 1);
  const ranked = rankForDeletion(active, { now, podsOnNode: (node) => onNode.get(node) ?? 0 });
  return [{ do: 'deletePods', pods: ranked.slice(0, Math.min(-missing, BURST)) }];
}
