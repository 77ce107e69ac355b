// Sends the victims of a preemption away.
// Guarantees: every victim is told why before it goes; one that is gone already is no failure; names the uid.
import type { V1Pod } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { PODS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import type { PodInfo } from '../podInfo.js';

interface Eviction {
  readonly client: Client;
  readonly schedulerName: string;
  readonly now: number;
}

export async function evict({ pod }: PodInfo, { client, schedulerName, now }: Eviction): Promise<void> {
  const { name, namespace, uid, generation } = pod.metadata;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'PreemptionByScheduler',
    message: `${schedulerName}: preempting to accommodate a higher priority pod`,
    lastTransitionTime: new Date(now).toISOString().replace(/\.\d+Z$/, 'Z'),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  const patch = { metadata: { uid }, status: { conditions: [condition] } };
  try {
    await client.of(PODS).patch({ name, namespace }, 'strategic', patch, { subresource: 'status' });
    await client.of(PODS).delete({ name, namespace }, { preconditions: { uid } });
  } catch (error) {
    // Gone, or another pod of the same name by now.
    if (!ApiError.is(error, 'NotFound') && !ApiError.is(error, 'Conflict')) throw error;
  }
}

/** Takes back a nomination that a more important pod has overruled. */
export async function clearNomination(client: Client, { metadata }: Stored<V1Pod>): Promise<void> {
  const { name, namespace, uid } = metadata;
  const patch = { metadata: { uid }, status: { nominatedNodeName: null } };
  await client.of(PODS).patch({ name, namespace }, 'strategic', patch, { subresource: 'status' });
}
