// Expansion: a bound claim that asks for more gets it, where its class allows.
// Guarantees: a volume never shrinks; what others provision is left to them, and told.
import { keyOf } from '../../api/object.js';
import { compareQuantities } from '../../api/quantity.js';
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES } from '../../api/resources.js';
import { classOf, isFor } from '../../api/volumeMatch.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { LOCAL_PATH_PROVISIONER } from './localPath.js';
import { type Claim, PROVISIONED_BY, type StorageClass, type Volume } from './match.js';

const NAME = 'persistentvolume-expander-controller';

export const volumeExpander: Controller = {
  name: NAME,
  needs: [PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES],
  run(context) {
    const { informers } = context;
    const claims = informers.of(PERSISTENT_VOLUME_CLAIMS);
    const volumes = informers.of(PERSISTENT_VOLUMES);
    const classes = informers.of(STORAGE_CLASSES);
    const queue = newQueue(context);
    const wake = ({ metadata }: Claim) => queue.add(keyOf(metadata));
    claims.on({ added: wake, updated: wake });
    return runLoop(context, NAME, {
      queue,
      reconcile: async (key) => {
        const claim = claims.get(key);
        const volume = claim?.spec.volumeName ? volumes.get(claim.spec.volumeName) : undefined;
        if (claim === undefined || volume === undefined) return undefined;
        const storageClass = classes.get(classOf(claim));
        await carryOut(context, claim, planExpansion({ claim, volume, storageClass }), volume);
        return undefined;
      },
    });
  },
};

interface ExpansionObserved {
  readonly claim: Claim;
  readonly volume: Volume;
  readonly storageClass: StorageClass | undefined;
}

type ExpansionAction =
  | { readonly do: 'nothing' }
  | { readonly do: 'grow'; readonly storage: string }
  /** The one who made it must make it larger. */
  | { readonly do: 'wait'; readonly provisioner: string };

/** Pure. */
export function planExpansion({ claim, volume, storageClass }: ExpansionObserved): ExpansionAction {
  const asked = claim.spec.resources?.requests?.['storage'] ?? '0';
  const present = volume.spec.capacity?.['storage'] ?? '0';
  const isTheirs = claim.status?.phase === 'Bound' && isFor(volume, claim);
  if (!isTheirs || storageClass?.allowVolumeExpansion !== true) return { do: 'nothing' };
  if (compareQuantities(asked, present) <= 0) return { do: 'nothing' };
  const provisioner = volume.metadata.annotations?.[PROVISIONED_BY] ?? storageClass.provisioner;
  // A directory has the room of its file system: more of it is only a matter of writing it down.
  return provisioner === LOCAL_PATH_PROVISIONER
    ? { do: 'grow', storage: asked }
    : { do: 'wait', provisioner };
}

async function carryOut(
  { client, record }: ControllerContext,
  claim: Claim,
  action: ExpansionAction,
  volume: Volume,
): Promise<void> {
  if (action.do === 'wait') {
    const message = `waiting for an external controller (${action.provisioner}) to expand this PVC`;
    record(PERSISTENT_VOLUME_CLAIMS, claim, { type: 'Normal', reason: 'ExternalExpanding', message });
  }
  if (action.do !== 'grow') return;
  const capacity = { ...volume.spec.capacity, storage: action.storage };
  // The binder tells the claim what its volume has.
  const update = { ...volume, spec: { ...volume.spec, capacity } };
  if ((await ignoring(['NotFound'], client.of(PERSISTENT_VOLUMES).update(update))) === undefined) return;
  const message = `Resized volume ${volume.metadata.name} to ${action.storage}`;
  record(PERSISTENT_VOLUME_CLAIMS, claim, { type: 'Normal', reason: 'VolumeResizeSuccessful', message });
}
