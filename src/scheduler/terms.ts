// The pods that a term of affinity or a spread constraint speaks of: by namespace and labels. Pure.
// Guarantees: terms that mean the same share one key; a selector that cannot be read selects nothing.
import type { V1LabelSelector, V1Pod, V1PodAffinityTerm } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import { compileLabelSelector, type LabelMatcher, type Labels, matchesNothing } from '../api/selectors.js';
import { ApiError } from '../api/status.js';

export interface PodTerm {
  readonly key: string;
  /** Those named; none when only a selector says which. */
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: LabelMatcher | undefined;
  readonly labels: LabelMatcher;
}

export interface AffinityTerm extends PodTerm {
  readonly topologyKey: string;
  readonly weight: number;
}

export function matchesTerm(term: PodTerm, pod: PodIdentity, namespaceLabels: Labels | undefined): boolean {
  const inNamespace =
    term.namespaces.has(pod.namespace) || term.namespaceSelector?.(namespaceLabels ?? {}) === true;
  return inNamespace && term.labels(pod.labels);
}

interface PodIdentity {
  readonly namespace: string;
  readonly labels: Labels | undefined;
}

/** Terms come again with every pod of one template; the bound keeps hostile ones from filling memory. */
const known = new Map<string, PodTerm>();
const MOST_KNOWN = 4096;

function termOf(
  namespaces: readonly string[],
  namespaceSelector: V1LabelSelector | undefined,
  selector: V1LabelSelector | undefined,
): PodTerm {
  const key = JSON.stringify([namespaces, namespaceSelector ?? null, selector ?? null]);
  const before = known.get(key);
  if (before !== undefined) return before;
  const term: PodTerm = {
    key,
    namespaces: new Set(namespaces),
    namespaceSelector: namespaceSelector === undefined ? undefined : compiled(namespaceSelector),
    labels: compiled(selector),
  };
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, term);
  return term;
}

function compiled(selector: V1LabelSelector | undefined): LabelMatcher {
  try {
    return compileLabelSelector(selector);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return matchesNothing;
  }
}

export function affinityTermOf(pod: Stored<V1Pod>, term: V1PodAffinityTerm, weight: number): AffinityTerm {
  const { namespaces = [], namespaceSelector, topologyKey, labelSelector } = term;
  const own = namespaces.length === 0 && namespaceSelector === undefined;
  const selector = withPodsValues(pod, labelSelector, term.matchLabelKeys, term.mismatchLabelKeys);
  const spaces = own ? [pod.metadata.namespace ?? ''] : [...namespaces].sort();
  return { ...termOf(spaces, namespaceSelector, selector), topologyKey, weight };
}

/** The pods in the pod's own namespace that a spread constraint counts. */
export function spreadTermOf(
  pod: Stored<V1Pod>,
  selector: V1LabelSelector | undefined,
  matchLabelKeys: readonly string[] | undefined,
): PodTerm {
  return termOf(
    [pod.metadata.namespace ?? ''],
    undefined,
    withPodsValues(pod, selector, matchLabelKeys, undefined),
  );
}

/** The selector, and the values that the pod itself has for the keys. */
function withPodsValues(
  { metadata: { labels = {} } }: Stored<V1Pod>,
  selector: V1LabelSelector | undefined,
  same: readonly string[] = [],
  other: readonly string[] = [],
): V1LabelSelector | undefined {
  if (selector === undefined || same.length + other.length === 0) return selector;
  const added = (keys: readonly string[], operator: 'In' | 'NotIn') =>
    keys.flatMap((key) => {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      return value === undefined ? [] : [{ key, operator, values: [value] }];
    });
  const expressions = [...(selector.matchExpressions ?? []), ...added(same, 'In'), ...added(other, 'NotIn')];
  return { ...selector, matchExpressions: expressions };
}
