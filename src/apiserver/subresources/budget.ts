// Whether a disruption budget lets a pod go, and what is left of it then. Pure.
// Guarantees: refusals are 429 with the cause that kubectl drain waits on.
import type { V1Condition, V1Pod, V1PodDisruptionBudget } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import { setOwn } from '../../api/ownKeys.js';
import { type ApiError, forbidden, statusError } from '../../api/status.js';

const RETRY_AFTER_S = 10;
const ALLOWED = 'DisruptionAllowed';
/** As refusals name it. */
const BUDGET = { group: 'policy', resource: 'poddisruptionbudget' };
/** Beyond these the controller is behind, and the list must not grow. */
const MAX_DISRUPTED = 2000;

/**
 * `free`: goes without touching the budget, whatever becomes of it. `unready`: so too, but only as long as the pod is as it
 * was judged. `spend`: takes one of its disruptions. Throws when there is no room.
 */
export type EvictionWay = 'free' | 'unready' | 'spend';

/** Whether a pod serves nobody, or goes already: no budget is asked. */
export function ignoresBudgets({ metadata, status }: V1Pod): EvictionWay | undefined {
  const phase = status?.phase;
  if (phase === 'Succeeded' || phase === 'Failed' || metadata?.deletionTimestamp !== undefined) return 'free';
  return phase === 'Pending' ? 'unready' : undefined;
}

export function judgeEviction(pod: V1Pod, budget: V1PodDisruptionBudget): EvictionWay {
  const { spec, status, metadata } = budget;
  const healthy = status?.currentHealthy ?? 0;
  const needed = status?.desiredHealthy ?? 0;
  if (!isReady(pod)) {
    if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return 'unready';
    if (needed > 0 && healthy >= needed) return 'unready';
  }
  const name = metadata?.name ?? '';
  if ((status?.observedGeneration ?? 0) < (metadata?.generation ?? 0)) throw stillProcessed(name);
  const allowed = status?.disruptionsAllowed ?? 0;
  if (allowed < 0) throw forbidden(BUDGET, name, 'pdb disruptions allowed is negative');
  if (Object.keys(status?.disruptedPods ?? {}).length > MAX_DISRUPTED) {
    const why = 'DisruptedPods map too big - too many evictions not confirmed by PDB controller';
    throw forbidden(BUDGET, name, why);
  }
  if (allowed === 0) throw refusal(noRoom(name, budget));
  return 'spend';
}

function noRoom(name: string, { status }: V1PodDisruptionBudget): string {
  const healthy = status?.currentHealthy ?? 0;
  const needed = status?.desiredHealthy ?? 0;
  const { reason = '', message = '' } =
    status?.conditions?.find(({ type, status: is }) => type === ALLOWED && is === 'False') ?? {};
  // What was counted before a failed sync says nothing now.
  if (reason === 'SyncFailed' && message !== '')
    return `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${message}`;
  if (healthy <= needed)
    return `The disruption budget ${name} needs ${needed} healthy pods and has ${healthy} currently`;
  const why = message === '' ? '' : ` (${reason}): ${message}`;
  return `The disruption budget ${name} does not allow evicting pods currently${why}`;
}

export function spend(
  budget: Draft<V1PodDisruptionBudget>,
  pod: string,
  time: string,
): Draft<V1PodDisruptionBudget> {
  const { status } = budget;
  const disruptedPods: Record<string, string> = { ...status?.disruptedPods };
  setOwn(disruptedPods, pod, time);
  const disruptionsAllowed = (status?.disruptionsAllowed ?? 0) - 1;
  const left = {
    currentHealthy: status?.currentHealthy ?? 0,
    desiredHealthy: status?.desiredHealthy ?? 0,
    expectedPods: status?.expectedPods ?? 0,
    ...status,
    disruptionsAllowed,
    disruptedPods,
    ...(disruptionsAllowed === 0 ? { conditions: exhausted(status, time) } : {}),
  };
  return { ...budget, status: left };
}

function exhausted(status: Draft<V1PodDisruptionBudget>['status'], time: string): Draft<V1Condition>[] {
  const conditions = status?.conditions ?? [];
  const before = conditions.find(({ type }) => type === ALLOWED);
  const condition = {
    type: ALLOWED,
    status: 'False',
    reason: 'InsufficientPods',
    message: '',
    observedGeneration: status?.observedGeneration,
    lastTransitionTime: before?.status === 'False' ? before.lastTransitionTime : time,
  };
  return [...conditions.filter(({ type }) => type !== ALLOWED), condition];
}

const isReady = ({ status }: V1Pod) =>
  (status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');

/** The one refusal that is over by itself soon: clients may try again. */
export const stillProcessed = (name: string): ApiError =>
  refusal(`The disruption budget ${name} is still being processed by the server.`, {
    retryAfterSeconds: RETRY_AFTER_S,
  });

/** With a time to wait clients retry by themselves; without one they tell whoever asked them. */
function refusal(message: string, more: { readonly retryAfterSeconds?: number } = {}): ApiError {
  return statusError('TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [{ reason: 'DisruptionBudget', message }],
    ...more,
  });
}
