// A pod's nodeSelector and node affinity, made into a question about a slot. Pure.
// Guarantees: values become numbers once a pod; asking about a node compares numbers and allocates nothing.
import type { V1NodeSelectorRequirement, V1NodeSelectorTerm, V1PodSpec } from '../api/gen/types.js';
import { meets } from '../api/nodeSelector.js';
import type { Snapshot } from './snapshot/snapshot.js';

export type SlotMatcher = (slot: number) => boolean;

const always: SlotMatcher = () => true;
const never: SlotMatcher = () => false;

/** What the pod requires of a node; undefined when it requires nothing. */
export function requiredNodes(spec: V1PodSpec, snapshot: Snapshot): SlotMatcher | undefined {
  const selectors = Object.entries(spec.nodeSelector ?? {}).map(([key, value]) =>
    labelMatcher({ key, operator: 'In', values: [value] }, snapshot),
  );
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required !== undefined && required !== null)
    selectors.push(anyTerm(required.nodeSelectorTerms, snapshot));
  return selectors.length === 0 ? undefined : all(selectors);
}

export function anyTerm(terms: readonly V1NodeSelectorTerm[], snapshot: Snapshot): SlotMatcher {
  const matchers = terms.map((term) => termMatcher(term, snapshot));
  const [only] = matchers;
  if (only === undefined) return never;
  return matchers.length === 1 ? only : (slot) => matchers.some((matches) => matches(slot));
}

/** A term without requirements matches nothing. */
export function termMatcher(term: V1NodeSelectorTerm, snapshot: Snapshot): SlotMatcher {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length + matchFields.length === 0) return never;
  return all([
    ...matchExpressions.map((requirement) => labelMatcher(requirement, snapshot)),
    ...matchFields.map((requirement) => fieldMatcher(requirement, snapshot)),
  ]);
}

function all(matchers: readonly SlotMatcher[]): SlotMatcher {
  const [first, second] = matchers;
  if (first === undefined) return always;
  if (second === undefined) return first;
  return (slot) => matchers.every((matches) => matches(slot));
}

function labelMatcher(requirement: V1NodeSelectorRequirement, { labels }: Snapshot): SlotMatcher {
  const { key, operator, values = [] } = requirement;
  const { ids, numbers, values: known } = labels.of(key);
  switch (operator) {
    case 'Exists':
      return (slot) => ids[slot] !== 0;
    case 'DoesNotExist':
      return (slot) => ids[slot] === 0;
    case 'In':
    case 'NotIn': {
      const wanted = operator === 'In';
      const listed = values.flatMap((value) => numbers.get(value) ?? []);
      const [first] = listed;
      if (first === undefined) return wanted ? never : always;
      if (listed.length === 1) return (slot) => (ids[slot] === first) === wanted;
      const isListed = new Uint8Array(known.length);
      for (const number of listed) isListed[number] = 1;
      return (slot) => (isListed[ids[slot] ?? 0] === 1) === wanted;
    }
    default: {
      // Gt and Lt, and what is not known: asked once for each value that any node has.
      const verdicts = Uint8Array.from(known, (value, at) =>
        meets(requirement, at === 0 ? {} : { [key]: value }) ? 1 : 0,
      );
      return (slot) => verdicts[ids[slot] ?? 0] === 1;
    }
  }
}

function fieldMatcher(requirement: V1NodeSelectorRequirement, { table: { names } }: Snapshot): SlotMatcher {
  return (slot) => meets(requirement, { 'metadata.name': names[slot] ?? '' });
}

/** The nodes named by every term, when each names some: DaemonSets make such pods, one for each node. */
export function namedNodes(spec: V1PodSpec): readonly string[] | undefined {
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const named = terms.map(({ matchFields = [] }) => {
    const lists = matchFields
      .filter(({ key, operator }) => key === 'metadata.name' && operator === 'In')
      .map(({ values = [] }) => values);
    return lists.length === 0
      ? undefined
      : lists.reduce((left, right) => left.filter((name) => right.includes(name)));
  });
  if (named.length === 0 || named.includes(undefined)) return undefined;
  return [...new Set(named.flatMap((names) => names ?? []))];
}
