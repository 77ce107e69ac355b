// The two things that scheduling writes: the binding of a pod to a node, and why there is none.
// Guarantees: both name the pod's uid, so that neither reaches a successor of the same name.
import type { V1Binding, V1Pod, V1PodCondition } from '../api/gen/types.js';
import type { ObjectName, Stored } from '../api/object.js';
import { PODS } from '../api/resources.js';
import type { Client } from '../client/client.js';

export async function bind(client: Client, pod: Stored<V1Pod>, nodeName: string): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  const binding: V1Binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name, namespace, uid },
    target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
  };
  await client.of(PODS).post(nameOf(pod), 'binding', binding);
}

export type FailureReason = 'Unschedulable' | 'SchedulerError';

interface Failure {
  readonly reason: FailureReason;
  readonly message: string;
  readonly now: number;
  /** The node that a preemption makes room on. */
  readonly nominatedNodeName?: string;
}

/** Writes PodScheduled=False and the nomination, unless the pod says the same already. */
export async function reportFailure(client: Client, pod: Stored<V1Pod>, failure: Failure): Promise<void> {
  const condition = conditionOf(pod, failure);
  const { nominatedNodeName = '' } = failure;
  const nominates = nominatedNodeName !== '' && nominatedNodeName !== pod.status?.nominatedNodeName;
  if (condition === undefined && !nominates) return;
  const status = {
    ...(condition === undefined ? {} : { conditions: [condition] }),
    ...(nominates ? { nominatedNodeName } : {}),
  };
  const patch = { metadata: { uid: pod.metadata.uid }, status };
  await client.of(PODS).patch(nameOf(pod), 'strategic', patch, { subresource: 'status' });
}

/** The condition to write, or undefined when the pod has it. The time of transition is that of the status. */
function conditionOf(pod: Stored<V1Pod>, { reason, message, now }: Failure): V1PodCondition | undefined {
  const held = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const { generation } = pod.metadata;
  const wanted = { type: 'PodScheduled', status: 'False', reason, message };
  const isSame = held?.status === wanted.status && held.reason === reason && held.message === message;
  if (isSame) return undefined;
  const since = held?.status === wanted.status ? held.lastTransitionTime : undefined;
  const seen = generation === undefined ? {} : { observedGeneration: generation };
  return {
    ...wanted,
    ...seen,
    lastTransitionTime: since ?? new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
  };
}

function nameOf({ metadata }: Stored<V1Pod>): ObjectName {
  return { name: metadata.name, namespace: metadata.namespace };
}
