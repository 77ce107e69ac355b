// PodDisruptionBudgets as preemption sees them: how many more pods may go. Pure.
import type { V1PodDisruptionBudget } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { compileLabelSelector, type LabelMatcher } from '../../api/selectors.js';
import { ApiError } from '../../api/status.js';
import type { PodInfo } from '../podInfo.js';

export interface Budget {
  readonly namespace: string;
  readonly allowed: number;
  /** Pods already on their way out: they are paid for. */
  readonly disrupted: ReadonlySet<string>;
  readonly matches: LabelMatcher;
}

/** An empty selector protects nobody, as in Kubernetes' scheduler; one that cannot be read neither. */
export function budgetsOf(objects: readonly Stored<V1PodDisruptionBudget>[]): readonly Budget[] {
  return objects.flatMap(({ metadata, spec: { selector }, status }) => {
    const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
    if (Object.keys(matchLabels).length + matchExpressions.length === 0) return [];
    try {
      return [
        {
          namespace: metadata.namespace ?? '',
          allowed: status.disruptionsAllowed ?? 0,
          disrupted: new Set(Object.keys(status.disruptedPods ?? {})),
          matches: compileLabelSelector(selector),
        },
      ];
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return [];
    }
  });
}

/** Those that would go beyond a budget if all of them went, in this order. */
export function beyondBudget(pods: readonly PodInfo[], budgets: readonly Budget[]): ReadonlySet<PodInfo> {
  const beyond = new Set<PodInfo>();
  if (budgets.length === 0) return beyond;
  const left = budgets.map(({ allowed }) => allowed);
  for (const one of pods) {
    const { name, labels } = one.pod.metadata;
    if (labels === undefined) continue;
    budgets.forEach(({ namespace, disrupted, matches }, at) => {
      if (namespace !== one.namespace || disrupted.has(name) || !matches(labels)) return;
      const remaining = (left[at] ?? 0) - 1;
      left[at] = remaining;
      if (remaining < 0) beyond.add(one);
    });
  }
  return beyond;
}
