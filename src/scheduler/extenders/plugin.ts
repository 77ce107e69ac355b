// What the extenders said of the nodes, as a plugin of one attempt: it filters and scores beside the others. Pure.
import type { EventKind } from '../events.js';
import type { Plugin } from '../plugin.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { ExtendersAnswer } from './callExtenders.js';

const EXTENDER = 'Extender';

/** Nobody knows what an extender looks at, so any change may help. */
const ANY: readonly EventKind[] = [
  ...(['node added', 'node allocatable', 'node labels', 'node taints', 'node schedulable'] as const),
  ...(['node removed', 'pod added', 'pod labels', 'pod removed', 'volumes', 'namespace', 'service'] as const),
];

/** For the queue: what wakes a pod that an extender refused. */
export const extenderEvents: Plugin = { name: EXTENDER, wokenBy: ANY };

const NOT_ASKED = 'node(s) were not shown to the extenders';

export function extenderPlugin(
  { allowed, failed, failedForGood }: ExtendersAnswer,
  { table }: Snapshot,
): Plugin {
  const nameOf = (slot: number) => table.names[slot] ?? '';
  const reasonOf = (name: string) => failedForGood.get(name) ?? failed.get(name) ?? NOT_ASKED;
  const reasons = [...new Set([...failedForGood.values(), ...failed.values(), NOT_ASKED])];
  return {
    ...extenderEvents,
    filter: () => ({
      test(slot) {
        const name = nameOf(slot);
        return allowed.has(name) ? 0 : 1 + reasons.indexOf(reasonOf(name));
      },
      reasons: (code) => reasons.slice(code - 1, code),
      isFinal: (_, slot) => failedForGood.has(nameOf(slot)),
      ...(allowed.size === 0
        ? {}
        : { only: [...allowed.keys()].flatMap((name) => table.slotOf(name) ?? []) }),
    }),
    score: () => ({
      score(slots, count, out) {
        for (let at = 0; at < count; at += 1) out[at] = allowed.get(nameOf(slots[at] ?? 0)) ?? 0;
      },
    }),
  };
}
