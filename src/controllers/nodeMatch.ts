// Whether a pod may stand on a node: node selector, required node affinity, taints. Pure.
// Guarantees: a term without requirements matches nothing; an operator that is not known matches nothing.
import type { V1NodeSelector, V1NodeSelectorRequirement, V1PodSpec, V1Toleration } from '../api/gen/types.js';
import type { Node } from './node/health.js';
import { tolerates } from './node/taintEviction.js';

type Values = Readonly<Record<string, string>>;

export function matchesNodeSelector({ nodeSelector, affinity }: V1PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const plain = Object.entries(nodeSelector ?? {});
  if (!plain.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeTerms(required, node);
}

export function matchesNodeTerms({ nodeSelectorTerms }: V1NodeSelector, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const fields = { 'metadata.name': node.metadata.name };
  return nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    return (
      matchExpressions.every((requirement) => meets(requirement, labels)) &&
      matchFields.every((requirement) => meets(requirement, fields))
    );
  });
}

/** True when no taint of one of these effects is left that nothing tolerates. */
export function toleratesAll(
  tolerations: readonly V1Toleration[],
  node: Node,
  effects: readonly string[],
): boolean {
  return (node.spec.taints ?? [])
    .filter(({ effect }) => effects.includes(effect))
    .every((taint) => tolerations.some((toleration) => tolerates(toleration, taint)));
}

function meets({ key, operator, values = [] }: V1NodeSelectorRequirement, held: Values): boolean {
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
      return isWhole(value) && isWhole(values[0]) && BigInt(value) > BigInt(values[0]);
    case 'Lt':
      return isWhole(value) && isWhole(values[0]) && BigInt(value) < BigInt(values[0]);
    default:
      return false;
  }
}

function isWhole(text: string | undefined): text is string {
  return text !== undefined && /^[+-]?\d{1,19}$/.test(text);
}
