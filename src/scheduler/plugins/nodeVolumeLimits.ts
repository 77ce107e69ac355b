// A node's driver can attach only so many volumes. Pure.
import { type Plugin, simpleFilter } from '../plugin.js';
import type { PodInfo } from '../podInfo.js';
import type { Catalog } from '../snapshot/catalog.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { claimNames } from './claims.js';

export const nodeVolumeLimits: Plugin = {
  name: 'NodeVolumeLimits',
  looksAtPods: true,
  wokenBy: ['pod removed', 'node added', 'volumes'],
  filter(pod, snapshot) {
    const own = attachmentsOf(pod, snapshot.catalog);
    if (own.size === 0) return undefined;
    return simpleFilter((slot) => exceeds(own, slot, snapshot), 'node(s) exceed max volume count', {
      final: false,
    });
  },
};

/** Each volume by a name of its own, with its driver. */
function attachmentsOf(pod: PodInfo, catalog: Catalog): ReadonlyMap<string, string> {
  const attachments = new Map<string, string>();
  for (const { name } of claimNames(pod)) {
    const claim = catalog.claim(pod.namespace, name);
    if (claim === undefined) continue;
    const csi = catalog.volume(claim.spec.volumeName ?? '')?.spec.csi;
    if (csi !== undefined) attachments.set(`${csi.driver}\0${csi.volumeHandle}`, csi.driver);
    else if (!claim.spec.volumeName) {
      const provisioner = catalog.storageClass(claim.spec.storageClassName ?? '')?.provisioner;
      if (provisioner !== undefined) attachments.set(`${pod.namespace}/${name}`, provisioner);
    }
  }
  return attachments;
}

function exceeds(own: ReadonlyMap<string, string>, slot: number, { catalog, table }: Snapshot): boolean {
  const drivers = catalog.csiNode(table.names[slot] ?? '')?.spec.drivers ?? [];
  const limits = drivers.filter(
    ({ name, allocatable }) => allocatable?.count !== undefined && [...own.values()].includes(name),
  );
  if (limits.length === 0) return false;
  const all = new Map(own);
  for (const other of table.pods[slot]?.values() ?? [])
    if ((other.spec.volumes ?? []).length > 0)
      for (const [volume, driver] of attachmentsOf(other, catalog)) all.set(volume, driver);
  const count = (name: string) => [...all.values()].filter((driver) => driver === name).length;
  return limits.some(({ name, allocatable }) => count(name) > (allocatable?.count ?? 0));
}
