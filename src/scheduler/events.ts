// What a change of a node, or of a pod, means for pods that wait. Pure.
// Guarantees: heartbeats and status reports that make no room wake nobody.
import type { V1Node, V1Pod } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import type { ClusterEvent } from './plugin.js';
import { hasEnded } from './podInfo.js';

export function nodeEvents(node: Stored<V1Node>, previous: Stored<V1Node>): readonly ClusterEvent[] {
  const events: ClusterEvent[] = [];
  if (differs(node.status?.allocatable, previous.status?.allocatable)) events.push('node allocatable');
  if (differs(node.metadata.labels, previous.metadata.labels)) events.push('node labels');
  if (differs(node.spec?.taints, previous.spec?.taints)) events.push('node taints');
  if (node.spec?.unschedulable !== true && previous.spec?.unschedulable === true)
    events.push('node schedulable');
  return events;
}

/** Whether a bound pod gave back what it had of its node. */
export function freesItsNode(pod: Stored<V1Pod>, previous: Stored<V1Pod>): boolean {
  return hasEnded(pod) && !hasEnded(previous);
}

/** Whether a waiting pod is for this scheduler to place. */
export function isWaiting(pod: Stored<V1Pod>, schedulerName: string): boolean {
  const { spec, metadata } = pod;
  return (
    !spec.nodeName &&
    metadata.deletionTimestamp === undefined &&
    !hasEnded(pod) &&
    (spec.schedulerName || 'default-scheduler') === schedulerName &&
    (spec.schedulingGates ?? []).length === 0
  );
}

/** Whether a waiting pod changed in a way that could change its fate; its own conditions do not. */
export function deservesFreshStart(pod: Stored<V1Pod>, previous: Stored<V1Pod>): boolean {
  return differs(pod.spec, previous.spec) || differs(pod.metadata.labels, previous.metadata.labels);
}

function differs(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) !== JSON.stringify(right);
}
