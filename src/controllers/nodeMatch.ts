// Whether a pod tolerates the taints of a node. Pure.
// Guarantees: only taints of the effects that were asked for count.
import type { V1Toleration } from '../api/gen/types.js';
import type { Node } from './node/health.js';
import { tolerates } from './node/taintEviction.js';

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
