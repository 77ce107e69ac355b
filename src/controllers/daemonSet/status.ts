// What a DaemonSet says of its pods. Pure.
// Guarantees: counts nodes, not pods; the oldest pod speaks for its node, as in Kubernetes.
import type { V1DaemonSetStatus } from '../../api/gen/types.js';
import { availableAt, isReady } from '../pods.js';
import { byAge, groupByNode, isAvailable, isOf } from './nodePods.js';
import { belongsOn } from './nodes.js';
import type { DaemonSetObserved } from './plan.js';

interface DaemonSetSeen extends DaemonSetObserved {
  /** False while earlier actions are not seen yet: then the newest wish is not called observed. */
  readonly actedOn: boolean;
}

export function daemonSetStatus({ set, nodes, pods, hash, now, actedOn }: DaemonSetSeen): V1DaemonSetStatus {
  const count = { desired: 0, current: 0, ready: 0, available: 0, updated: 0, misscheduled: 0 };
  const podsOf = groupByNode(pods);
  for (const node of nodes) {
    const [pod] = [...(podsOf.get(node.metadata.name) ?? [])].sort(byAge);
    if (!belongsOn(set, node).shouldRun) {
      if (pod !== undefined) count.misscheduled++;
      continue;
    }
    count.desired++;
    if (pod === undefined) continue;
    count.current++;
    if (isReady(pod)) count.ready++;
    if (isAvailable(pod, set, now)) count.available++;
    if (isOf(pod, hash)) count.updated++;
  }
  const observedGeneration = actedOn ? set.metadata.generation : set.status?.observedGeneration;
  const { collisionCount, conditions } = set.status ?? {};
  return {
    desiredNumberScheduled: count.desired,
    currentNumberScheduled: count.current,
    numberMisscheduled: count.misscheduled,
    numberReady: count.ready,
    numberAvailable: count.available,
    numberUnavailable: count.desired - count.available,
    updatedNumberScheduled: count.updated,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}

/** Milliseconds until the next ready pod becomes available. */
export function nextAvailableInMs({ set, pods, now }: DaemonSetObserved): number | undefined {
  const waits = pods
    .map((pod) => (availableAt(pod, set.spec.minReadySeconds ?? 0) ?? 0) - now)
    .filter((wait) => wait > 0);
  return waits.length === 0 ? undefined : Math.min(...waits);
}
