// Claims for the generic ephemeral volumes of pods: made with the pod, owned by it, and gone with it.
// Guarantees: a claim of that name that the pod does not own is never used in its place; the pod is told.
import type { V1PersistentVolumeClaim } from '../../api/gen/types.js';
import { type KubeObject, keyOf, type Stored } from '../../api/object.js';
import { PERSISTENT_VOLUME_CLAIMS, PODS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import { controllerReference } from '../claim.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { isNamespaceGoing } from '../ownedPods.js';
import { isFinished, isTerminating, type Pod } from '../pods.js';

const NAME = 'ephemeral-volume-controller';

interface EphemeralPlan {
  readonly create: readonly V1PersistentVolumeClaim[];
  /** Names of claims that are in the way. */
  readonly foreign: readonly string[];
}

export function planEphemeral(
  pod: Pod,
  claimOf: (key: string) => Stored<KubeObject> | undefined,
): EphemeralPlan {
  const create: V1PersistentVolumeClaim[] = [];
  const foreign: string[] = [];
  if (isTerminating(pod) || isFinished(pod)) return { create, foreign };
  const { namespace } = pod.metadata;
  for (const { name: volume, ephemeral } of pod.spec.volumes ?? []) {
    const template = ephemeral?.volumeClaimTemplate;
    if (template === undefined) continue;
    const name = `${pod.metadata.name}-${volume}`;
    const present = claimOf(keyOf({ name, namespace }));
    if (present !== undefined) {
      const owners = present.metadata.ownerReferences ?? [];
      if (!owners.some(({ uid }) => uid === pod.metadata.uid)) foreign.push(name);
      continue;
    }
    create.push({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        ...(template.metadata?.labels === undefined ? {} : { labels: template.metadata.labels }),
        ...(template.metadata?.annotations === undefined
          ? {}
          : { annotations: template.metadata.annotations }),
        name,
        namespace,
        ownerReferences: [controllerReference(PODS, pod)],
      },
      spec: template.spec,
    });
  }
  return { create, foreign };
}

export const ephemeralVolumeController: Controller = {
  name: NAME,
  needs: [PERSISTENT_VOLUME_CLAIMS],
  run(context) {
    const { client, informers, record } = context;
    const pods = informers.of(PODS);
    const claims = informers.of(PERSISTENT_VOLUME_CLAIMS);
    const queue = newQueue(context);
    pods.on({
      added: ({ metadata, spec }) => {
        if ((spec.volumes ?? []).some(({ ephemeral }) => ephemeral !== undefined)) queue.add(keyOf(metadata));
      },
    });
    const reconcile = async (key: string): Promise<undefined> => {
      const pod = pods.get(key);
      if (pod === undefined) return undefined;
      const { create, foreign } = planEphemeral(pod, (claim) => claims.get(claim));
      for (const claim of create) {
        try {
          await client.of(PERSISTENT_VOLUME_CLAIMS).create(claim);
        } catch (error) {
          // Of the same name already: the next look tells whose it is.
          if (!ApiError.is(error, 'AlreadyExists') && !isNamespaceGoing(error)) throw error;
        }
      }
      for (const name of foreign) {
        const message = `PersistentVolumeClaim "${name}" was not created for this pod (pod is not owner)`;
        record(PODS, pod, { type: 'Warning', reason: 'FailedBinding', message });
      }
      if (foreign.length > 0) throw new Error(`claim ${foreign.join(', ')} belongs to someone else`);
      return undefined;
    };
    return runLoop(context, NAME, { queue, reconcile });
  },
};
