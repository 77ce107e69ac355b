// Clears the condition DisruptionTarget, after a while, of pods that were not disrupted after all.
// Guarantees: pods that are going or have ended keep the condition, as do those that their kubelet ends.
import type { V1PodCondition } from '../../api/gen/types.js';
import { keyOf } from '../../api/object.js';
import { PODS } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type ControllerContext, newQueue, runLoop } from '../controller.js';
import { isFinished, isTerminating, type Pod, podCondition, stampOf, timeOf } from '../pods.js';

const TARGET = 'DisruptionTarget';
/** Whoever meant to take the pod away has had the time. */
const STALE_MS = 2 * 60_000;

/** Milliseconds until the condition is stale, 0 when it is; undefined when there is none that could become so. */
export function staleInMs(pod: Pod, now: number): number | undefined {
  const target = podCondition(pod, TARGET);
  if (isTerminating(pod) || isFinished(pod) || target?.status !== 'True') return undefined;
  // A kubelet may take as long as the pod needs to end.
  if (target.reason === 'TerminationByKubelet') return undefined;
  return Math.max(0, (timeOf(target.lastTransitionTime) ?? 0) + STALE_MS - now);
}

export function withoutTarget(conditions: readonly V1PodCondition[], now: number): readonly V1PodCondition[] {
  return conditions.map((condition) =>
    condition.type === TARGET
      ? { type: TARGET, status: 'False', lastTransitionTime: stampOf(now) }
      : condition,
  );
}

export function runStaleTargets(context: ControllerContext, name: string): Promise<void> {
  const { informers, client, now } = context;
  const pods = informers.of(PODS);
  const queue = newQueue(context);
  const see = (pod: Pod) => {
    const waitMs = staleInMs(pod, now());
    if (waitMs !== undefined) queue.addAfter(keyOf(pod.metadata), waitMs);
  };
  pods.on({ added: see, updated: see });
  const reconcile = async (key: string): Promise<number | undefined> => {
    const pod = pods.get(key);
    const waitMs = pod === undefined ? undefined : staleInMs(pod, now());
    if (pod === undefined || waitMs !== 0) return waitMs;
    const status = { ...pod.status, conditions: withoutTarget(pod.status?.conditions ?? [], now()) };
    await ignoring(['NotFound'], client.of(PODS).update({ ...pod, status }, { subresource: 'status' }));
    return undefined;
  };
  return runLoop(context, name, { queue, workers: 1, reconcile });
}
