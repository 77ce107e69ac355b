// How much of a resource a node would have given away with a pod on it. Pure.
import type { PodInfo } from '../podInfo.js';
import { COLUMNS } from '../resources.js';
import type { NodeTable } from '../snapshot/nodeTable.js';

export interface ResourceWeight {
  readonly name: string;
  readonly weight: number;
}

interface Share {
  /** Resources that only some nodes have count for pods that ask for them. */
  readonly counts: boolean;
  all(slot: number): number;
  taken(slot: number): number;
}

/** With `presumed`, pods that ask for no CPU or memory count as if they asked for a little. */
export function shareOf(table: NodeTable, pod: PodInfo, name: string, by: 'presumed' | 'requested'): Share {
  const at = COLUMNS.indexOf(name as never);
  const all = table.allocatable[at];
  const presumes = by === 'presumed' && (name === 'cpu' || name === 'memory');
  const taken = presumes ? table.presumed[at] : table.requested[at];
  const own = presumes ? pod.presumed[name] : (pod.requests.get(name) ?? 0);
  if (all !== undefined && taken !== undefined)
    return { counts: true, all: (slot) => all[slot] ?? 0, taken: (slot) => (taken[slot] ?? 0) + own };
  return {
    counts: own > 0,
    all: (slot) => table.offerOf(slot, name),
    taken: (slot) => table.requestedOf(slot, name) + own,
  };
}
