// Protection of claims and volumes in use: a finalizer keeps them until the last user is gone.
// Guarantees: a claim goes only when no pod that may still run names it; a volume only when no claim is bound to it.
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '../../api/gen/types.js';
import { type KubeObject, keyOf, nameOfKey, type Stored } from '../../api/object.js';
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type ResourceType,
} from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { isFinished, type Pod } from '../pods.js';
import { claimKeysOf } from './binder.js';

const PVC = 'kubernetes.io/pvc-protection';
const PV = 'kubernetes.io/pv-protection';

/** The finalizers the object must have, or undefined when they are right. */
export function protectedFinalizers(
  { metadata }: Stored<KubeObject>,
  finalizer: string,
  inUse: boolean,
): readonly string[] | undefined {
  const present = metadata.finalizers ?? [];
  const has = present.includes(finalizer);
  if (metadata.deletionTimestamp === undefined) return has ? undefined : [...present, finalizer];
  return has && !inUse ? present.filter((name) => name !== finalizer) : undefined;
}

export const claimProtection: Controller = {
  name: 'persistentvolumeclaim-protection-controller',
  needs: [PERSISTENT_VOLUME_CLAIMS],
  run(context) {
    const claims = context.informers.of(PERSISTENT_VOLUME_CLAIMS);
    const pods = context.informers.of(PODS);
    pods.index('claim', claimKeysOf);
    const queue = newQueue(context);
    const wake = ({ metadata }: Stored<V1PersistentVolumeClaim>) => queue.add(keyOf(metadata));
    claims.on({ added: wake, updated: wake });
    const wakeClaims = (pod: Pod) => {
      for (const key of claimKeysOf(pod)) queue.add(key);
    };
    pods.on({
      updated: (pod, previous) => {
        if (isFinished(pod) && !isFinished(previous)) wakeClaims(pod);
      },
      deleted: wakeClaims,
    });
    const isUsed = (pod: Pod) => Boolean(pod.spec.nodeName) && !isFinished(pod);
    const reconcile = async (key: string): Promise<undefined> => {
      const claim = claims.get(key);
      if (claim === undefined) return undefined;
      let inUse = pods.byIndex('claim', key).some(isUsed);
      // The cache may be late: before a claim is given up, the server is asked.
      if (!inUse && claim.metadata.deletionTimestamp !== undefined) {
        const { items } = await context.client.of(PODS).list({ namespace: nameOfKey(key).namespace ?? '' });
        inUse = items.some((pod) => isUsed(pod) && claimKeysOf(pod).includes(key));
      }
      await write(context, PERSISTENT_VOLUME_CLAIMS, claim, protectedFinalizers(claim, PVC, inUse));
      return undefined;
    };
    return runLoop(context, claimProtection.name, { queue, reconcile });
  },
};

export const volumeProtection: Controller = {
  name: 'persistentvolume-protection-controller',
  needs: [PERSISTENT_VOLUMES],
  run(context) {
    const volumes = context.informers.of(PERSISTENT_VOLUMES);
    const queue = newQueue(context);
    const wake = ({ metadata }: Stored<V1PersistentVolume>) => queue.add(metadata.name);
    volumes.on({ added: wake, updated: wake });
    const reconcile = async (name: string): Promise<undefined> => {
      const volume = volumes.get(name);
      if (volume === undefined) return undefined;
      const inUse = volume.status?.phase === 'Bound';
      await write(context, PERSISTENT_VOLUMES, volume, protectedFinalizers(volume, PV, inUse));
      return undefined;
    };
    return runLoop(context, volumeProtection.name, { queue, reconcile });
  },
};

async function write<T extends KubeObject>(
  { client }: ControllerContext,
  type: ResourceType<T>,
  object: Stored<T>,
  finalizers: readonly string[] | undefined,
): Promise<void> {
  if (finalizers === undefined) return;
  const update = { ...object, metadata: { ...object.metadata, finalizers } };
  await ignoring(['NotFound'], client.of(type).update(update));
}
