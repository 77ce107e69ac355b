// What Kubernetes fills into sources of volumes that pods and PersistentVolumes share. Pure.
// Guarantees: idempotent; never overrides what was said.
import type { V1PersistentVolumeSpec, V1Volume } from '../gen/types.js';
import type { Draft } from '../kind.js';

type Sources = Draft<
  Pick<V1Volume | V1PersistentVolumeSpec, 'azureDisk' | 'hostPath' | 'iscsi' | 'rbd' | 'scaleIO'>
>;

export function defaultSources({ azureDisk, hostPath, iscsi, rbd, scaleIO }: Sources): void {
  if (hostPath !== undefined) hostPath.type ??= '';
  if (iscsi !== undefined) iscsi.iscsiInterface ||= 'default';
  if (rbd !== undefined) {
    rbd.pool ||= 'rbd';
    rbd.user ||= 'admin';
    rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (azureDisk !== undefined) {
    azureDisk.cachingMode ??= 'ReadWrite';
    azureDisk.fsType ??= 'ext4';
    azureDisk.readOnly ??= false;
    azureDisk.kind ??= 'Shared';
  }
  if (scaleIO !== undefined) {
    scaleIO.storageMode ||= 'ThinProvisioned';
    scaleIO.fsType ||= 'xfs';
  }
}
