// The pods of a DaemonSet by the node they are for, and what is asked of each. Pure.
// Guarantees: a pod is of a template by its revision label alone; the order of pods on a node is total.
import type { Node } from '../node/health.js';
import { availableAt, isFinished, isTerminating, type Pod } from '../pods.js';
import { REVISION_LABEL } from '../revisions.js';
import { type DaemonSet, targetNode } from './nodes.js';

/** What stands on one node that the set belongs to. */
export interface NodePods {
  readonly node: Node;
  readonly pods: readonly Pod[];
}

/** A finished pod that is also being deleted is as good as gone. */
export function groupByNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const groups = new Map<string, Pod[]>();
  for (const pod of pods) {
    const name = targetNode(pod);
    if (name === undefined || (isTerminating(pod) && isFinished(pod))) continue;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [pod]);
    else group.push(pod);
  }
  return groups;
}

export function isOf({ metadata }: Pod, hash: string): boolean {
  return metadata.labels?.[REVISION_LABEL] === hash;
}

export function isAvailable(pod: Pod, { spec }: DaemonSet, now: number): boolean {
  return (availableAt(pod, spec.minReadySeconds ?? 0) ?? Infinity) <= now;
}

/** Those on a node first, then the oldest. */
export function byAge(a: Pod, b: Pod): number {
  const placed = ({ spec }: Pod) => (spec.nodeName ? 0 : 1);
  const times = Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp);
  return placed(a) - placed(b) || times || (a.metadata.name < b.metadata.name ? -1 : 1);
}
