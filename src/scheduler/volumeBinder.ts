// Writes what the choice of a node means for volumes, and waits until they are there.
// Guarantees: a pod is bound only after all of its claims are; a volume taken by someone else in between is a failure.
import type { V1PersistentVolumeClaim } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '../api/resources.js';
import { pause } from '../base/deadline.js';
import type { Client } from '../client/client.js';
import { SchedulerError } from './error.js';
import { isBound } from './plugins/claims.js';
import { SELECTED_NODE, type VolumePlan } from './plugins/volumeBinding.js';
import type { Snapshot } from './snapshot/snapshot.js';

const LOOK_EVERY_MS = 100;
const WAIT_MS = 600_000;

interface VolumeBinding {
  readonly client: Client;
  readonly plan: VolumePlan;
  readonly nodeName: string;
  readonly snapshot: Snapshot;
  readonly signal: AbortSignal;
}

/** Throws when the volumes cannot be had, or not in time. */
export async function bindVolumes(binding: VolumeBinding): Promise<void> {
  const { client, plan, nodeName, snapshot, signal } = binding;
  for (const { volume, claim } of plan.bindings) {
    const { resourceVersion } = snapshot.catalog.volume(volume)?.metadata ?? {};
    const patch = {
      metadata: { resourceVersion, annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
      spec: { claimRef: referenceTo(claim) },
    };
    await client.of(PERSISTENT_VOLUMES).patch({ name: volume }, 'merge', patch);
  }
  for (const { metadata } of plan.provisions) {
    const { name, namespace, uid } = metadata;
    const patch = { metadata: { uid, annotations: { [SELECTED_NODE]: nodeName } } };
    await client.of(PERSISTENT_VOLUME_CLAIMS).patch({ name, namespace }, 'merge', patch);
  }
  const claims = [...plan.bindings.map(({ claim }) => claim), ...plan.provisions];
  const deadline = performance.now() + WAIT_MS;
  while (!claims.every((claim) => hasVolume(claim, snapshot))) {
    if (signal.aborted)
      throw new SchedulerError('TIMEOUT', 'the scheduler ended while volumes were being bound');
    if (performance.now() > deadline)
      throw new SchedulerError('TIMEOUT', 'binding volumes: timed out waiting for the condition');
    await pause(LOOK_EVERY_MS, signal);
  }
}

function hasVolume({ metadata: { name, namespace = '', uid } }: Claim, { catalog }: Snapshot): boolean {
  const claim = catalog.claim(namespace, name);
  if (claim === undefined || claim.metadata.uid !== uid)
    throw new SchedulerError('VOLUME', `persistentvolumeclaim ${JSON.stringify(name)} not found`);
  return isBound(claim);
}

type Claim = Stored<V1PersistentVolumeClaim>;

function referenceTo({ metadata: { name, namespace, uid, resourceVersion } }: Claim) {
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid, resourceVersion };
}
