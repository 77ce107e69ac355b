// What a ReplicaSet says of its pods. Pure.
// Guarantees: counts are of the pods given; a condition's transition time changes only with its status.
import type { V1ReplicaSet, V1ReplicaSetCondition, V1ReplicaSetStatus } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { availableAt, isActive, isFinished, isReady, isTerminating, type Pod, stampOf } from '../pods.js';

export interface ReplicaSetSeen {
  readonly set: Stored<V1ReplicaSet>;
  /** The pods it holds, terminating ones included. */
  readonly pods: readonly Pod[];
  readonly now: number;
  /** False while earlier actions are not seen yet: then the newest wish has not been acted on, and is not called observed. */
  readonly actedOn: boolean;
  /** Why pods could not be made or deleted, when that failed. */
  readonly failure?: { readonly reason: 'FailedCreate' | 'FailedDelete'; readonly message: string };
}

export function replicaSetStatus({ set, pods, now, actedOn, failure }: ReplicaSetSeen): V1ReplicaSetStatus {
  const conditions = conditionsOf(set, now, failure);
  const observedGeneration = actedOn ? set.metadata.generation : set.status?.observedGeneration;
  return {
    ...countsOf(set, pods, now),
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

/** In one walk: each change of one pod of thousands counts them all. */
function countsOf({ spec }: ReplicaSetSeen['set'], pods: readonly Pod[], now: number) {
  const wantedLabels = Object.entries(spec.template?.metadata?.labels ?? {});
  const minReadySeconds = spec.minReadySeconds ?? 0;
  const counts = {
    replicas: 0,
    fullyLabeledReplicas: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    terminatingReplicas: 0,
  };
  for (const pod of pods) {
    if (isFinished(pod)) continue;
    if (isTerminating(pod)) {
      counts.terminatingReplicas += 1;
      continue;
    }
    counts.replicas += 1;
    const { labels } = pod.metadata;
    if (wantedLabels.every(([key, value]) => labels?.[key] === value)) counts.fullyLabeledReplicas += 1;
    if (!isReady(pod)) continue;
    counts.readyReplicas += 1;
    if (minReadySeconds === 0 || (availableAt(pod, minReadySeconds) ?? Infinity) <= now)
      counts.availableReplicas += 1;
  }
  return counts;
}

/** Milliseconds until the next ready pod becomes available; undefined when none is on its way. */
export function nextAvailableInMs({
  set,
  pods,
  now,
}: Pick<ReplicaSetSeen, 'set' | 'pods' | 'now'>): number | undefined {
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  if (minReadySeconds === 0) return undefined;
  const waits = pods
    .filter(isActive)
    .map((pod) => (availableAt(pod, minReadySeconds) ?? 0) - now)
    .filter((wait) => wait > 0);
  return waits.length === 0 ? undefined : Math.min(...waits);
}

function conditionsOf(
  set: Stored<V1ReplicaSet>,
  now: number,
  failure: ReplicaSetSeen['failure'],
): readonly V1ReplicaSetCondition[] {
  const old = set.status?.conditions ?? [];
  const others = old.filter(({ type }) => type !== 'ReplicaFailure');
  if (failure === undefined) return others.length === old.length ? old : others;
  const present = old.find(({ type }) => type === 'ReplicaFailure');
  if (present?.reason === failure.reason) return old;
  return [
    ...others,
    { type: 'ReplicaFailure', status: 'True', lastTransitionTime: stampOf(now), ...failure },
  ];
}
