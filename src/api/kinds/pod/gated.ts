// What may change of a pod that waits for its scheduling gates: whoever places it may ask more of its node. Pure.
// Guarantees: what the pod asked of its node before is asked still, term by term.
import { type Cause, invalidValue } from '../../causes.js';
import type { V1Affinity, V1NodeAffinity, V1NodeSelectorTerm, V1PodSpec } from '../../gen/types.js';
import { sameMeaning } from '../../meaning.js';
import { getOwn } from '../../ownKeys.js';

const TERMS = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

interface Placement {
  readonly causes: readonly Cause[];
  /** The spec as if nothing of that had changed. */
  readonly rest: V1PodSpec;
}

/** Of a pod that had gates before the change. */
export function gatedPlacement(spec: V1PodSpec, old: V1PodSpec): Placement {
  const affinity = withNodeAffinity(spec.affinity, old.affinity);
  return {
    causes: [
      ...selectorFaults(spec.nodeSelector, old.nodeSelector),
      ...termFaults(spec.affinity?.nodeAffinity, old.affinity?.nodeAffinity),
    ],
    rest: { ...spec, nodeSelector: old.nodeSelector, affinity },
  };
}

type Selector = V1PodSpec['nodeSelector'];

function selectorFaults(next: Selector, old: Selector = {}): Cause[] {
  if (Object.entries(old).every(([name, value]) => getOwn(next, name) === value)) return [];
  const why = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
  return [invalidValue('spec.nodeSelector', next ?? null, why)];
}

/** What is only preferred may change as it likes. */
function termFaults(next: V1NodeAffinity | undefined, old: V1NodeAffinity | undefined): Cause[] {
  const before = termsOf(old);
  const terms = termsOf(next);
  if (before.length > 0 && before.length !== terms.length) {
    const why = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed';
    return [invalidValue(TERMS, terms, why)];
  }
  return before.flatMap((term, at) => {
    const now = terms[at] ?? {};
    if (onlyAdds(now, term)) return [];
    return [invalidValue(`${TERMS}[${at}]`, now, 'only additions are allowed (no mutations or deletions)')];
  });
}

const termsOf = (affinity: V1NodeAffinity | undefined): readonly V1NodeSelectorTerm[] =>
  affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];

function onlyAdds(next: V1NodeSelectorTerm, old: V1NodeSelectorTerm): boolean {
  const [expressions, fields] = [old.matchExpressions ?? [], old.matchFields ?? []];
  const [nextExpressions, nextFields] = [next.matchExpressions ?? [], next.matchFields ?? []];
  // A term without any matches no node: with some it would match more than before.
  if (expressions.length + fields.length === 0) return nextExpressions.length + nextFields.length === 0;
  const begins = (list: readonly unknown[], begin: readonly unknown[]) =>
    sameMeaning('[]V1NodeSelectorRequirement', list.slice(0, begin.length), begin);
  return begins(nextExpressions, expressions) && begins(nextFields, fields);
}

function withNodeAffinity(next: V1Affinity | undefined, old: V1Affinity | undefined): V1Affinity | undefined {
  const { nodeAffinity: _, ...others } = next ?? {};
  const nodeAffinity = old?.nodeAffinity;
  if (nodeAffinity !== undefined) return { ...others, nodeAffinity };
  const isBare =
    old === undefined && others.podAffinity === undefined && others.podAntiAffinity === undefined;
  return isBare || next === undefined ? undefined : others;
}
