// What a change in the cluster means for pods that wait. Pure.
// Guarantees: heartbeats and status reports that make no room wake nobody.
import type { V1Node, V1Pod } from '../api/gen/types.js';
import { heldSpec } from '../api/kinds/pod/held.js';
import type { Stored } from '../api/object.js';
import { hasEnded, type PodInfo } from './podInfo.js';

export type EventKind =
  | 'node added'
  | 'node allocatable'
  | 'node labels'
  | 'node taints'
  | 'node schedulable'
  | 'node features'
  | 'node removed'
  | 'pod added'
  | 'pod labels'
  | 'pod removed'
  | 'volumes'
  | 'namespace'
  | 'service';

export interface ClusterEvent {
  readonly kind: EventKind;
  /** The node that came or changed. */
  readonly node?: Stored<V1Node>;
  /** The bound pod that came, changed or went. */
  readonly pod?: PodInfo;
}

export function nodeEvents(node: Stored<V1Node>, previous: Stored<V1Node>): readonly EventKind[] {
  const events: EventKind[] = [];
  if (differs(node.status?.allocatable, previous.status?.allocatable)) events.push('node allocatable');
  if (differs(node.metadata.labels, previous.metadata.labels)) events.push('node labels');
  if (differs(node.spec?.taints, previous.spec?.taints)) events.push('node taints');
  if (node.spec?.unschedulable !== true && previous.spec?.unschedulable === true)
    events.push('node schedulable');
  if (differs(node.status?.declaredFeatures, previous.status?.declaredFeatures)) events.push('node features');
  return events;
}

/** Whether a bound pod gave back what it had of its node, in whole or (by a smaller request) in part. */
export function freesItsNode(pod: Stored<V1Pod>, previous: Stored<V1Pod>): boolean {
  if (hasEnded(pod)) return !hasEnded(previous);
  return resourcesOf(pod) !== resourcesOf(previous);
}

/**
 * Whether a bound pod only tells how it is: what it asks for, its labels and its place are as they were. The generation
 * counts changes of the spec; a server that does not count tells nothing.
 */
export function onlyReports(pod: Stored<V1Pod>, previous: Stored<V1Pod>): boolean {
  const { generation, deletionTimestamp } = pod.metadata;
  return (
    generation !== undefined &&
    generation === previous.metadata.generation &&
    deletionTimestamp === previous.metadata.deletionTimestamp &&
    pod.spec.nodeName === previous.spec.nodeName &&
    hasEnded(pod) === hasEnded(previous) &&
    !labelsDiffer(pod, previous) &&
    holdsAlike(pod, previous)
  );
}

/** Of two versions with one spec: nearly always neither is being resized. */
function holdsAlike(pod: Stored<V1Pod>, previous: Stored<V1Pod>): boolean {
  const isSettled = (one: Stored<V1Pod>) => heldSpec(one) === one.spec;
  return (isSettled(pod) && isSettled(previous)) || resourcesOf(pod) === resourcesOf(previous);
}

function resourcesOf(pod: Stored<V1Pod>): string {
  const { containers, initContainers = [], resources } = heldSpec(pod);
  return JSON.stringify([[...containers, ...initContainers].map((one) => one.resources), resources]);
}

/** Whether a waiting pod is for one of these schedulers to place. A gated pod is not, yet. */
export function isWaiting(pod: Stored<V1Pod>, isOurs: (schedulerName: string) => boolean): boolean {
  const { spec, metadata } = pod;
  return (
    !spec.nodeName &&
    metadata.deletionTimestamp === undefined &&
    !hasEnded(pod) &&
    isOurs(spec.schedulerName || 'default-scheduler') &&
    (spec.schedulingGates ?? []).length === 0
  );
}

/** Whether a waiting pod changed in a way that could change its fate; its own conditions do not. */
export function deservesFreshStart(pod: Stored<V1Pod>, previous: Stored<V1Pod>): boolean {
  return differs(pod.spec, previous.spec) || differs(pod.metadata.labels, previous.metadata.labels);
}

export function labelsDiffer(pod: Stored<V1Pod>, previous: Stored<V1Pod>): boolean {
  return differs(pod.metadata.labels, previous.metadata.labels);
}

function differs(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) !== JSON.stringify(right);
}
