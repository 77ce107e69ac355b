// Disks that only one pod may use at a time, and claims that only one pod may use at all. Pure.
import type { V1Volume } from '../../api/gen/types.js';
import type { NodeFilter, Plugin } from '../plugin.js';
import type { PodInfo } from '../podInfo.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { claimNames } from './claims.js';

const REASONS = [
  [],
  ['node(s) had no available disk'],
  ['node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'],
] as const;

export const volumeRestrictions: Plugin = {
  name: 'VolumeRestrictions',
  wokenBy: ['pod removed', 'node added', 'volumes'],
  looksAround: true,
  filter(pod, snapshot): NodeFilter | undefined {
    const volumes = pod.spec.volumes ?? [];
    if (volumes.length === 0) return undefined;
    const disks = volumes.filter((volume) => diskOf(volume) !== undefined);
    const isTaken = exclusiveClaims(pod, snapshot).some((name) => isUsed(pod, name, snapshot));
    if (disks.length === 0 && !isTaken) return undefined;
    const { pods } = snapshot.table;
    return {
      test(slot) {
        if (isTaken) return 2;
        for (const { spec } of pods[slot]?.values() ?? [])
          for (const held of spec.volumes ?? [])
            if (disks.some((wanted) => conflicts(wanted, held))) return 1;
        return 0;
      },
      reasons: (code) => REASONS[code] ?? [],
      isFinal: () => false,
    };
  },
};

function exclusiveClaims(pod: PodInfo, { catalog }: Snapshot): readonly string[] {
  return claimNames(pod)
    .map(({ name }) => name)
    .filter(
      (name) => catalog.claim(pod.namespace, name)?.spec.accessModes?.includes('ReadWriteOncePod') === true,
    );
}

function isUsed(pod: PodInfo, claim: string, { table }: Snapshot): boolean {
  for (let slot = 0; slot < table.size; slot += 1)
    for (const other of table.pods[slot]?.values() ?? [])
      if (
        other.namespace === pod.namespace &&
        other.key !== pod.key &&
        (other.spec.volumes ?? []).length > 0 &&
        claimNames(other).some(({ name }) => name === claim)
      )
        return true;
  return false;
}

interface Disk {
  readonly identity: string;
  readonly readOnly: boolean;
  /** Whether two that only read may share it. */
  readonly sharable: boolean;
}

function diskOf({ gcePersistentDisk, awsElasticBlockStore, iscsi, rbd }: V1Volume): Disk | undefined {
  if (gcePersistentDisk !== undefined)
    return disk(`gce/${gcePersistentDisk.pdName}`, gcePersistentDisk.readOnly, true);
  if (awsElasticBlockStore !== undefined) return disk(`aws/${awsElasticBlockStore.volumeID}`, false, false);
  if (iscsi !== undefined) return disk(`iscsi/${iscsi.iqn}/${iscsi.lun}`, iscsi.readOnly, true);
  if (rbd !== undefined)
    return disk(
      `rbd/${[...rbd.monitors].sort().join()}/${rbd.pool ?? 'rbd'}/${rbd.image}`,
      rbd.readOnly,
      true,
    );
  return undefined;
}

const disk = (identity: string, readOnly: boolean | undefined, sharable: boolean): Disk => ({
  identity,
  readOnly: readOnly === true,
  sharable,
});

function conflicts(wanted: V1Volume, held: V1Volume): boolean {
  const [a, b] = [diskOf(wanted), diskOf(held)];
  if (a === undefined || b === undefined || a.identity !== b.identity) return false;
  return !(a.sharable && a.readOnly && b.readOnly);
}
