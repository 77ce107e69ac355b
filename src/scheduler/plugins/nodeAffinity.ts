// The pod's nodeSelector, required node affinity, and the nodes it would rather have. Pure.
import type { V1NodeAffinity } from '../../api/gen/types.js';
import { matchesNode } from '../../api/nodeSelector.js';
import { anyTerm, namedNodes, requiredNodes, termMatcher } from '../nodeMatcher.js';
import { type NodeFilter, type Plugin, scaleToHighest } from '../plugin.js';

export interface NodeAffinityArgs {
  /** Asked of every pod of the profile beside its own. */
  readonly addedAffinity?: V1NodeAffinity;
}

const REASONS = [
  [],
  ["node(s) didn't match Pod's node affinity/selector"],
  ["node(s) didn't match scheduler-enforced node affinity"],
] as const;

export const nodeAffinity = ({ addedAffinity }: NodeAffinityArgs = {}): Plugin => ({
  name: 'NodeAffinity',
  wokenBy: ['node added', 'node labels'],
  filter({ spec }, snapshot) {
    const required = requiredNodes(spec, snapshot);
    const enforcedTerms = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
    const enforced = enforcedTerms === undefined ? undefined : anyTerm(enforcedTerms, snapshot);
    if (required === undefined && enforced === undefined) return undefined;
    const names = namedNodes(spec);
    const filter: NodeFilter = {
      test(slot) {
        if (enforced !== undefined && !enforced(slot)) return 2;
        return required === undefined || required(slot) ? 0 : 1;
      },
      reasons: (code) => REASONS[code] ?? [],
      isFinal: () => true,
    };
    if (names === undefined) return filter;
    const { table } = snapshot;
    const only = names.flatMap((name) => table.slotOf(name) ?? []).filter((slot) => table.exists[slot] === 1);
    return { ...filter, only };
  },
  score({ spec }, snapshot) {
    const wishes = [
      ...(spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []),
    ];
    if (wishes.length === 0) return undefined;
    const asked = wishes.map(({ weight, preference }) => ({
      weight,
      matches: termMatcher(preference, snapshot),
    }));
    return {
      score(slots, count, out) {
        for (let at = 0; at < count; at += 1) {
          let sum = 0;
          for (const { weight, matches } of asked) if (matches(slots[at] ?? 0)) sum += weight;
          out[at] = sum;
        }
        scaleToHighest(out, count, { reverse: false });
      },
    };
  },
  helps: ({ node }, { spec }) => node === undefined || matchesNode(spec, node),
});
