// Pods that hold more of the node's disk than they may: emptyDir sizes and ephemeral-storage limits. Pure.
// Guarantees: the first limit that is broken is named, in Kubernetes' words.
import { integerValue, tryParseQuantity } from '../../api/quantity.js';
import type { Pod } from '../ports.js';
import { ephemeralBytes, type PodSample } from '../stats/sample.js';

/** Why the pod must go; undefined while it keeps its limits. */
export function brokenLimit({ spec }: Pod, sample: PodSample): string | undefined {
  for (const { name, emptyDir } of spec.volumes ?? []) {
    const limit = emptyDir?.sizeLimit;
    const used = sample.volumes.find((volume) => volume.name === name)?.usedBytes ?? 0;
    if (limit !== undefined && exceeds(used, limit))
      return `Usage of EmptyDir volume "${name}" exceeds the limit "${limit}". `;
  }
  const limits = spec.containers.map(({ resources }) => resources?.limits?.['ephemeral-storage']);
  for (const [index, limit] of limits.entries()) {
    const name = spec.containers[index]?.name ?? '';
    const own = sample.containers.find((container) => container.name === name);
    const used = (own?.rootfs?.usedBytes ?? 0) + (own?.logBytes ?? 0);
    if (limit !== undefined && exceeds(used, limit))
      return `Container ${name} exceeded its local ephemeral storage limit "${limit}". `;
  }
  // The pod as a whole is limited only when each container is.
  if (limits.length === 0 || limits.includes(undefined)) return undefined;
  const total = limits.reduce((sum, limit) => sum + amount(limit ?? '0'), 0);
  if (total === 0 || ephemeralBytes(sample) <= total) return undefined;
  return `Pod ephemeral local storage usage exceeds the total limit of containers ${total}. `;
}

const amount = (limit: string) => (tryParseQuantity(limit) === undefined ? 0 : integerValue(limit));

function exceeds(used: number, limit: string): boolean {
  const most = amount(limit);
  return most > 0 && used > most;
}
