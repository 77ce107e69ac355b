// Does a node match a pod's nodeSelector and node affinity. Pure.
// Guarantees: a term without requirements matches nothing; an operator that is not known matches nothing.
import type { V1Node, V1NodeSelectorRequirement, V1NodeSelectorTerm, V1PodSpec } from './gen/types.js';

type Values = Readonly<Record<string, string>>;

/** What the pod requires; preferences are for scoring. */
export function matchesNode(spec: V1PodSpec, node: V1Node): boolean {
  const labels = node.metadata?.labels ?? {};
  const wanted = Object.entries(spec.nodeSelector ?? {});
  if (!wanted.every(([key, value]) => labels[key] === value)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined || required === null) return true;
  return required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

export function matchesTerm(
  { matchExpressions = [], matchFields = [] }: V1NodeSelectorTerm,
  node: V1Node,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const labels = node.metadata?.labels ?? {};
  const fields = { 'metadata.name': node.metadata?.name ?? '' };
  return (
    matchExpressions.every((requirement) => meets(requirement, labels)) &&
    matchFields.every((requirement) => meets(requirement, fields))
  );
}

export function meets({ key, operator, values = [] }: V1NodeSelectorRequirement, held: Values): boolean {
  const value = Object.hasOwn(held, key) ? held[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compare(value, values[0], (left, right) => left > right);
    case 'Lt':
      return compare(value, values[0], (left, right) => left < right);
    default:
      return false;
  }
}

function compare(
  value: string | undefined,
  bound: string | undefined,
  by: (left: bigint, right: bigint) => boolean,
): boolean {
  const isWhole = (text: string | undefined): text is string =>
    text !== undefined && /^[+-]?\d{1,19}$/.test(text);
  return isWhole(value) && isWhole(bound) && by(BigInt(value), BigInt(bound));
}
