// The order in which nodes are looked at: one of each zone in turn, so that a look at a part of them sees all zones.
// Guarantees: every node once; nodes of one zone in the order they came.
import type { NodeTable } from './nodeTable.js';

const REGION = 'topology.kubernetes.io/region';
const ZONE = 'topology.kubernetes.io/zone';

/** What the order depends on. */
export function zoneOf(labels: Readonly<Record<string, string>> | undefined): string {
  return `${labels?.[REGION] ?? ''}\0${labels?.[ZONE] ?? ''}`;
}

export function interleaved({ nodes, size, exists }: NodeTable): Int32Array {
  const zones = new Map<string, number[]>();
  let count = 0;
  for (let slot = 0; slot < size; slot += 1) {
    if (exists[slot] !== 1) continue;
    const zone = zoneOf(nodes[slot]?.metadata.labels);
    const members = zones.get(zone);
    if (members === undefined) zones.set(zone, [slot]);
    else members.push(slot);
    count += 1;
  }
  const order = new Int32Array(count);
  const groups = [...zones.values()];
  let at = 0;
  for (let turn = 0; at < count; turn += 1)
    for (const group of groups) {
      const slot = group[turn];
      if (slot !== undefined) order[at++] = slot;
    }
  return order;
}
