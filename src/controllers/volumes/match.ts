// Which PersistentVolume fits a claim. Pure.
// Guarantees: a volume that is meant for another claim is never taken; of several that fit, the smallest is.
import type { V1PersistentVolume, V1PersistentVolumeClaim, V1StorageClass } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { compareQuantities } from '../../api/quantity.js';
import { compileLabelSelector } from '../../api/selectors.js';

export type Volume = Stored<V1PersistentVolume>;
export type Claim = Stored<V1PersistentVolumeClaim>;
export type StorageClass = Stored<V1StorageClass>;

const BETA_CLASS = 'volume.beta.kubernetes.io/storage-class';
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

export function classOf({ metadata, spec }: Claim | Volume): string {
  return metadata.annotations?.[BETA_CLASS] ?? spec.storageClassName ?? '';
}

/** Reserved for this claim, whether it is this very object or the next one of the name. */
export function isFor({ spec }: Volume, { metadata }: Claim): boolean {
  const reference = spec.claimRef;
  if (reference?.name !== metadata.name || reference.namespace !== metadata.namespace) return false;
  return reference.uid === undefined || reference.uid === '' || reference.uid === metadata.uid;
}

/** Why a volume that was named cannot serve the claim; undefined when it can. */
export function misfitOf(volume: Volume, claim: Claim): string | undefined {
  const asked = claim.spec.resources?.requests?.['storage'] ?? '0';
  if (compareQuantities(volume.spec.capacity?.['storage'] ?? '0', asked) < 0)
    return 'requested PV is too small';
  if (classOf(volume) !== classOf(claim)) return 'storageClassName does not match';
  if ((volume.spec.volumeMode ?? 'Filesystem') !== (claim.spec.volumeMode ?? 'Filesystem'))
    return 'incompatible volumeMode';
  const offered = volume.spec.accessModes ?? [];
  if (!(claim.spec.accessModes ?? []).every((mode) => offered.includes(mode)))
    return 'incompatible accessMode';
  return undefined;
}

export function findVolume(claim: Claim, volumes: readonly Volume[]): Volume | undefined {
  const usable = volumes.filter(
    (volume) => volume.metadata.deletionTimestamp === undefined && misfitOf(volume, claim) === undefined,
  );
  const reserved = usable.find((volume) => isFor(volume, claim));
  if (reserved !== undefined) return reserved;
  const matches = claim.spec.selector === undefined ? () => true : compileLabelSelector(claim.spec.selector);
  const free = usable.filter(
    ({ spec, metadata, status }) =>
      spec.claimRef === undefined && status?.phase !== 'Failed' && matches(metadata.labels),
  );
  const size = ({ spec }: Volume) => spec.capacity?.['storage'] ?? '0';
  free.sort((a, b) => compareQuantities(size(a), size(b)) || (a.metadata.name < b.metadata.name ? -1 : 1));
  return free[0];
}

export function waitsForConsumer(storageClass: StorageClass | undefined): boolean {
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}
