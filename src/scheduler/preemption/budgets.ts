// PodDisruptionBudgets as preemption sees them: how many more pods may go. Pure.
import type { V1PodDisruptionBudget } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { compileLabelSelector, type LabelMatcher } from '../../api/selectors.js';
import { ApiError } from '../../api/status.js';
import type { PodInfo } from '../podInfo.js';

interface Budget {
  readonly namespace: string;
  readonly allowed: number;
  /** Pods already on their way out: they are paid for. */
  readonly disrupted: ReadonlySet<string>;
  readonly matches: LabelMatcher;
}

/** The budgets of the cluster at one time. Which of them speak of a pod is found once for all pods with its labels. */
export class Budgets {
  readonly #all: readonly Budget[];
  readonly #ofClass = new Map<string, readonly Budget[]>();

  constructor(objects: readonly Stored<V1PodDisruptionBudget>[]) {
    this.#all = objects.flatMap(budgetOf);
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  of({ classKey, namespace, pod: { metadata } }: PodInfo): readonly Budget[] {
    const known = this.#ofClass.get(classKey);
    if (known !== undefined) return known;
    const { labels } = metadata;
    const found =
      labels === undefined
        ? []
        : this.#all.filter((budget) => budget.namespace === namespace && budget.matches(labels));
    this.#ofClass.set(classKey, found);
    return found;
  }
}

/** An empty selector protects nobody, as in Kubernetes' scheduler; one that cannot be read neither. */
function budgetOf({
  metadata,
  spec: { selector },
  status,
}: Stored<V1PodDisruptionBudget>): readonly Budget[] {
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
}

const NOBODY: ReadonlySet<PodInfo> = new Set();

/** Those that would go beyond a budget if all of them went, in this order. */
export function beyondBudget(pods: readonly PodInfo[], budgets: Budgets): ReadonlySet<PodInfo> {
  if (budgets.isEmpty) return NOBODY;
  const beyond = new Set<PodInfo>();
  const left = new Map<Budget, number>();
  for (const one of pods)
    for (const budget of budgets.of(one)) {
      if (budget.disrupted.has(one.pod.metadata.name)) continue;
      const remaining = (left.get(budget) ?? budget.allowed) - 1;
      left.set(budget, remaining);
      if (remaining < 0) beyond.add(one);
    }
  return beyond;
}
