// The annotations of claims and volumes, and what a storage class says of binding. Pure.
import type { V1StorageClass } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';

export type { Claim, Volume } from '../../api/volumeMatch.js';
export type StorageClass = Stored<V1StorageClass>;

export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

export function waitsForConsumer(storageClass: StorageClass | undefined): boolean {
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}
