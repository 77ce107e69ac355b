// Whether a disruption budget lets a pod go, and what is left of it then. Pure.
// Guarantees: refusals are 429 with the cause that kubectl drain waits on.
import type { V1Pod, V1PodDisruptionBudget } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import { setOwn } from '../../api/own.js';
import { statusError } from '../../api/status.js';

const RETRY_AFTER_S = 10;
/** Beyond these the controller is behind, and the list must not grow. */
const MAX_DISRUPTED = 2000;

/** `free`: goes without touching the budget. `spend`: takes one of its disruptions. Throws when there is no room. */
export function judgeEviction(pod: V1Pod, budget: V1PodDisruptionBudget): 'free' | 'spend' {
  const { phase } = pod.status ?? {};
  // It serves nobody, or goes already.
  if (phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending') return 'free';
  if (pod.metadata?.deletionTimestamp !== undefined) return 'free';
  const { spec, status, metadata } = budget;
  const name = metadata?.name ?? '';
  const healthy = status?.currentHealthy ?? 0;
  const needed = status?.desiredHealthy ?? 0;
  if (!isReady(pod)) {
    if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return 'free';
    if (needed > 0 && healthy >= needed) return 'free';
  }
  if ((status?.observedGeneration ?? 0) < (metadata?.generation ?? 0)) {
    throw refusal(`The disruption budget ${name} is still being processed by the server.`);
  }
  const allowed = status?.disruptionsAllowed ?? 0;
  if (allowed < 0) throw statusError('Forbidden', `pdb disruptions allowed is negative`);
  if (Object.keys(status?.disruptedPods ?? {}).length > MAX_DISRUPTED) {
    throw statusError(
      'Forbidden',
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    );
  }
  if (allowed === 0) {
    throw refusal(`The disruption budget ${name} needs ${needed} healthy pods and has ${healthy} currently`);
  }
  return 'spend';
}

export function spend(
  budget: Draft<V1PodDisruptionBudget>,
  pod: string,
  time: string,
): Draft<V1PodDisruptionBudget> {
  const { status } = budget;
  const disruptedPods: Record<string, string> = { ...status?.disruptedPods };
  setOwn(disruptedPods, pod, time);
  const left = {
    currentHealthy: status?.currentHealthy ?? 0,
    desiredHealthy: status?.desiredHealthy ?? 0,
    expectedPods: status?.expectedPods ?? 0,
    ...status,
    disruptionsAllowed: (status?.disruptionsAllowed ?? 0) - 1,
    disruptedPods,
  };
  return { ...budget, status: left };
}

const isReady = ({ status }: V1Pod) =>
  (status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');

function refusal(message: string) {
  return statusError('TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [{ reason: 'DisruptionBudget', message }],
    retryAfterSeconds: RETRY_AFTER_S,
  });
}
