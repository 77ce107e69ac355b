// Taints keep pods away that do not tolerate them; some only ask them to stay away. Pure.
// Guarantees: a pod is held against each set of taints once, however many nodes have it.
import type { V1Taint } from '../../api/gen/types.js';
import { type Plugin, scaleToHighest, simpleFilter } from '../plugin.js';
import type { PodInfo } from '../podInfo.js';
import { tolerates } from '../tolerations.js';

/** Whether a node with these taints takes no pod like this. */
export function keepsAway({ spec }: PodInfo, taints: readonly V1Taint[] | undefined): boolean {
  return (taints ?? []).some(
    (taint) =>
      (taint.effect === 'NoSchedule' || taint.effect === 'NoExecute') && !tolerates(spec.tolerations, taint),
  );
}

export const taintToleration: Plugin = {
  name: 'TaintToleration',
  wokenBy: ['node added', 'node taints'],
  filter(pod, { taints: { sets, ids } }) {
    if (sets.length === 1) return undefined;
    const verdicts = Uint8Array.from(sets, ({ taints }) => (keepsAway(pod, taints) ? 1 : 0));
    return simpleFilter((slot) => verdicts[ids[slot] ?? 0] === 1, 'node(s) had untolerated taint(s)', {
      final: true,
    });
  },
  score({ spec }, { taints: { sets, ids } }) {
    const unwanted = sets.map(
      ({ taints }) =>
        taints.filter((taint) => taint.effect === 'PreferNoSchedule' && !tolerates(spec.tolerations, taint))
          .length,
    );
    if (unwanted.every((count) => count === 0)) return undefined;
    return {
      score(slots, count, out) {
        for (let at = 0; at < count; at += 1) out[at] = unwanted[ids[slots[at] ?? 0] ?? 0] ?? 0;
        scaleToHighest(out, count, { reverse: true });
      },
    };
  },
  helps: ({ node }, pod) => !keepsAway(pod, node?.spec?.taints),
};
