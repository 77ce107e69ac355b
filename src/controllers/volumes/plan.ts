// What becomes of a claim and of a volume: bound, waiting, provisioned, released, reclaimed, lost. Pure.
// Guarantees: a bound pair stays one for the claim's life; a volume with data is given to nobody else by itself.
import { classOf, isFor, misfitOf, volumesFor } from '../../api/volumeMatch.js';
import type { ControllerEvent } from '../controller.js';
import {
  BIND_COMPLETED,
  type Claim,
  PROVISIONED_BY,
  SELECTED_NODE,
  type StorageClass,
  type Volume,
  waitsForConsumer,
} from './match.js';

interface ClaimObserved {
  readonly claim: Claim;
  /** The volume that the claim names, if it names one and it is there. */
  readonly named: Volume | undefined;
  readonly volumes: readonly Volume[];
  readonly storageClass: StorageClass | undefined;
  /** Whether a pod wants it already. */
  readonly hasConsumer: boolean;
}

export type ClaimAction =
  | { readonly do: 'bind'; readonly volume: Volume }
  | { readonly do: 'provision'; readonly storageClass: StorageClass; readonly node: string | undefined }
  | { readonly do: 'setPhase'; readonly phase: 'Pending' | 'Lost'; readonly event?: ControllerEvent };

const pending = (type: ControllerEvent['type'], reason: string, message: string): ClaimAction => ({
  do: 'setPhase',
  phase: 'Pending',
  event: { type, reason, message },
});

export function planClaim(observed: ClaimObserved): ClaimAction {
  const { claim, named } = observed;
  const isBound = claim.metadata.annotations?.[BIND_COMPLETED] !== undefined;
  if (claim.spec.volumeName) {
    if (isBound) return planBound(observed);
    if (named === undefined) return { do: 'setPhase', phase: 'Pending' };
    if (named.spec.claimRef !== undefined && !isFor(named, claim))
      return pending(
        'Warning',
        'FailedBinding',
        `volume "${claim.spec.volumeName}" already bound to a different claim.`,
      );
    // Each names the other: whoever did that knows more than sizes and classes say.
    const misfit = named.spec.claimRef === undefined ? misfitOf(named, claim) : undefined;
    if (misfit !== undefined)
      return pending(
        'Warning',
        'VolumeMismatch',
        `Cannot bind to requested volume "${named.metadata.name}": ${misfit}`,
      );
    return { do: 'bind', volume: named };
  }
  return planUnbound(observed);
}

function planBound({ claim, named }: ClaimObserved): ClaimAction {
  const lost = (reason: string, message: string): ClaimAction => ({
    do: 'setPhase',
    phase: 'Lost',
    event: { type: 'Warning', reason, message },
  });
  if (named === undefined)
    return lost('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!');
  if (named.spec.claimRef === undefined || isFor(named, claim)) return { do: 'bind', volume: named };
  return lost('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly');
}

function planUnbound({ claim, volumes, storageClass, hasConsumer }: ClaimObserved): ClaimAction {
  const node = claim.metadata.annotations?.[SELECTED_NODE];
  const [fitting] = volumesFor(claim, volumes);
  if (fitting !== undefined && isFor(fitting, claim)) return { do: 'bind', volume: fitting };
  if (waitsForConsumer(storageClass) && node === undefined)
    return hasConsumer
      ? pending('Normal', 'WaitForPodScheduled', 'waiting for pod to be scheduled')
      : pending('Normal', 'WaitForFirstConsumer', 'waiting for first consumer to be created before binding');
  // With a consumer the scheduler chooses volumes by node; what it did not choose is provisioned.
  const volume = waitsForConsumer(storageClass) ? undefined : fitting;
  if (volume !== undefined) return { do: 'bind', volume };
  if (classOf(claim) === '')
    return pending(
      'Normal',
      'FailedBinding',
      'no persistent volumes available for this claim and no storage class is set',
    );
  if (storageClass === undefined)
    return pending(
      'Warning',
      'ProvisioningFailed',
      `storageclass.storage.k8s.io "${classOf(claim)}" not found`,
    );
  if (storageClass.provisioner === 'kubernetes.io/no-provisioner')
    return { do: 'setPhase', phase: 'Pending' };
  return { do: 'provision', storageClass, node };
}

interface VolumeObserved {
  readonly volume: Volume;
  /** The claim that its claimRef names, whatever its uid. */
  readonly claim: Claim | undefined;
  /** By whom volumes can be deleted here. */
  readonly ownProvisioner: string | undefined;
}

type VolumeAction =
  | { readonly do: 'nothing' }
  | {
      readonly do: 'setPhase';
      readonly phase: string;
      readonly event?: ControllerEvent;
      readonly message?: string;
    }
  | { readonly do: 'delete' };

export function planVolume({ volume, claim, ownProvisioner }: VolumeObserved): VolumeAction {
  const { claimRef, persistentVolumeReclaimPolicy: policy = 'Retain' } = volume.spec;
  const phase = volume.status?.phase;
  const to = (wanted: string): VolumeAction =>
    phase === wanted ? { do: 'nothing' } : { do: 'setPhase', phase: wanted };
  if (claimRef === undefined || claimRef.uid === undefined || claimRef.uid === '') return to('Available');
  if (claim !== undefined && claim.metadata.uid === claimRef.uid) {
    if (claim.spec.volumeName === volume.metadata.name) return to('Bound');
    // Bound elsewhere meanwhile: this one was meant for it and is not needed.
    return claim.spec.volumeName ? to('Released') : { do: 'nothing' };
  }
  if (phase === 'Failed') return { do: 'nothing' };
  if (phase !== 'Released') return to('Released');
  if (volume.metadata.deletionTimestamp !== undefined) return { do: 'nothing' };
  if (policy === 'Recycle') {
    const message = 'Recycle is not supported; use dynamic provisioning with the policy Delete';
    const event: ControllerEvent = { type: 'Warning', reason: 'VolumeFailedRecycle', message };
    return { do: 'setPhase', phase: 'Failed', event, message };
  }
  return isReclaimed(volume, ownProvisioner) ? { do: 'delete' } : { do: 'nothing' };
}

/** Whether what it holds goes with it, and by whoever is asked here. */
export function isReclaimed({ metadata, spec }: Volume, ownProvisioner: string | undefined): boolean {
  const isOurs = ownProvisioner !== undefined && metadata.annotations?.[PROVISIONED_BY] === ownProvisioner;
  return isOurs && spec.persistentVolumeReclaimPolicy === 'Delete';
}
