// What a StatefulSet says of its pods and its update. Pure.
// Guarantees: the current revision becomes the new one only when every pod is of it and ready.
import type { V1StatefulSetStatus } from '../../api/gen/types.js';
import { availableAt, isReady, isTerminating, type Pod } from '../pods.js';
import { replicasOf, revisionNameOf } from './identity.js';
import type { StatefulSetObserved } from './plan.js';

interface StatefulSetSeen extends StatefulSetObserved {
  readonly actedOn: boolean;
}

export function statefulSetStatus(seen: StatefulSetSeen): V1StatefulSetStatus {
  const { set, pods, current, update, now, actedOn } = seen;
  const isRunning = ({ status }: Pod) => status?.phase === 'Running';
  const ready = pods.filter((pod) => isRunning(pod) && isReady(pod));
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  const available = ready.filter((pod) => (availableAt(pod, minReadySeconds) ?? Infinity) <= now);
  const of = (revision: string) =>
    pods.filter((pod) => !isTerminating(pod) && revisionNameOf(pod) === revision).length;
  const updated = of(update.revision);
  const desired = replicasOf(set);
  const isRolling = (set.spec.updateStrategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
  const isComplete =
    isRolling && [updated, ready.length, pods.length].every((count) => count === desired) && actedOn;
  const observedGeneration = actedOn ? set.metadata.generation : set.status?.observedGeneration;
  const { conditions } = set.status ?? {};
  return {
    replicas: pods.length,
    readyReplicas: ready.length,
    availableReplicas: available.length,
    currentReplicas: isComplete ? updated : of(current.revision),
    updatedReplicas: updated,
    currentRevision: isComplete ? update.revision : current.revision,
    updateRevision: update.revision,
    collisionCount: set.status?.collisionCount ?? 0,
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}

/** Milliseconds until the next ready pod becomes available. */
export function nextAvailableInMs({ set, pods, now }: StatefulSetObserved): number | undefined {
  const waits = pods
    .map((pod) => (availableAt(pod, set.spec.minReadySeconds ?? 0) ?? 0) - now)
    .filter((wait) => wait > 0);
  return waits.length === 0 ? undefined : Math.min(...waits);
}
