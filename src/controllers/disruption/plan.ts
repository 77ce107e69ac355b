// How many pods of a PodDisruptionBudget may be taken away now. Pure.
// Guarantees: a pod whose eviction was just allowed is no longer counted as healthy, also while it still is there.
import type { V1Condition, V1PodDisruptionBudget, V1PodDisruptionBudgetStatus } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { resolveIntOrPercent } from '../intOrPercent.js';
import { isReady, isTerminating, type Pod, stampOf, timeOf } from '../pods.js';

export type Budget = Stored<V1PodDisruptionBudget>;

/** An eviction that was allowed and never came about is forgotten after this. */
const EVICTION_MS = 2 * 60_000;

interface BudgetObserved {
  readonly budget: Budget;
  /** Those it selects. */
  readonly pods: readonly Pod[];
  /** How many pods those who manage these pods wish for, together. */
  readonly expected: number;
  readonly now: number;
}

interface BudgetPlan {
  readonly status: V1PodDisruptionBudgetStatus;
  /** When an allowed eviction is to be forgotten. */
  readonly againMs?: number;
}

export function planBudget({ budget, pods, expected, now }: BudgetObserved): BudgetPlan {
  const { expectedPods, desiredHealthy } = numbersOf(budget, pods.length, expected);
  const { disruptedPods, againMs } = pendingEvictions(budget, pods, now);
  const currentHealthy = pods.filter(
    (pod) => !isTerminating(pod) && isReady(pod) && !Object.hasOwn(disruptedPods, pod.metadata.name),
  ).length;
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const { generation } = budget.metadata;
  return {
    status: {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(Object.keys(disruptedPods).length === 0 ? {} : { disruptedPods }),
      currentHealthy,
      desiredHealthy,
      expectedPods,
      disruptionsAllowed,
      conditions: conditionsOf(budget, disruptionsAllowed > 0, now),
    },
    ...(againMs === undefined ? {} : { againMs }),
  };
}

/** Whether its numbers are shares of what the pods' controllers wish for. */
export const dependsOnScale = ({ spec }: Budget): boolean =>
  spec.maxUnavailable !== undefined || typeof spec.minAvailable === 'string';

function numbersOf({ spec }: Budget, selected: number, expected: number) {
  const { minAvailable, maxUnavailable } = spec;
  if (maxUnavailable !== undefined) {
    const unavailable = resolveIntOrPercent(maxUnavailable, expected, 'up');
    return { expectedPods: expected, desiredHealthy: Math.max(0, expected - unavailable) };
  }
  if (typeof minAvailable === 'number') return { expectedPods: selected, desiredHealthy: minAvailable };
  const desiredHealthy = minAvailable === undefined ? 0 : resolveIntOrPercent(minAvailable, expected, 'up');
  return { expectedPods: minAvailable === undefined ? selected : expected, desiredHealthy };
}

function pendingEvictions({ status }: Budget, pods: readonly Pod[], now: number) {
  const disruptedPods: Record<string, string> = {};
  const waits: number[] = [];
  const present = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  for (const [name, stamp] of Object.entries(status?.disruptedPods ?? {})) {
    const pod = present.get(name);
    const left = (timeOf(stamp) ?? 0) + EVICTION_MS - now;
    if (pod === undefined || isTerminating(pod) || left <= 0) continue;
    disruptedPods[name] = stamp;
    waits.push(left);
  }
  return { disruptedPods, againMs: waits.length === 0 ? undefined : Math.min(...waits) };
}

const CONDITION = 'DisruptionAllowed';

function conditionsOf({ metadata, status }: Budget, allowed: boolean, now: number): readonly V1Condition[] {
  const present = status?.conditions ?? [];
  const old = present.find(({ type }) => type === CONDITION);
  const value = allowed ? 'True' : 'False';
  const condition: V1Condition = {
    type: CONDITION,
    status: value,
    reason: allowed ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    lastTransitionTime: old?.status === value ? old.lastTransitionTime : stampOf(now),
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
  };
  return [...present.filter(({ type }) => type !== CONDITION), condition];
}

/** When the numbers cannot be told: nothing may be taken away. */
export function failedStatus(budget: Budget, message: string, now: number): V1PodDisruptionBudgetStatus {
  const [condition] = conditionsOf({ ...budget, status: {} }, false, now);
  const others = (budget.status?.conditions ?? []).filter(({ type }) => type !== CONDITION);
  const old = budget.status?.conditions?.find(({ type }) => type === CONDITION);
  const lastTransitionTime = old?.status === 'False' ? old.lastTransitionTime : stampOf(now);
  return {
    ...budget.status,
    ...(budget.metadata.generation === undefined ? {} : { observedGeneration: budget.metadata.generation }),
    disruptionsAllowed: 0,
    conditions:
      condition === undefined
        ? others
        : [...others, { ...condition, reason: 'SyncFailed', message, lastTransitionTime }],
  };
}
