// The first schedulers' label rules, off unless asked for: nodes that must have labels, and nodes better with one. Pure.
import { MAX_SCORE, type Plugin, simpleFilter } from '../plugin.js';

export interface NodeLabelArgs {
  readonly presentLabels?: readonly string[];
  readonly absentLabels?: readonly string[];
  readonly presentLabelsPreference?: readonly string[];
  readonly absentLabelsPreference?: readonly string[];
}

/** CheckNodeLabelPresence and the node-label priority, in one plugin as Kubernetes last had them. */
export const nodeLabel = (args: NodeLabelArgs): Plugin => {
  const { presentLabels = [], absentLabels = [] } = args;
  const { presentLabelsPreference: liked = [], absentLabelsPreference: disliked = [] } = args;
  const has = (labels: Readonly<Record<string, string>> | undefined, key: string) =>
    labels !== undefined && Object.hasOwn(labels, key);
  return {
    name: 'NodeLabel',
    wokenBy: ['node added', 'node labels'],
    filter(_, { labels }) {
      if (presentLabels.length + absentLabels.length === 0) return undefined;
      const present = presentLabels.map((key) => labels.of(key).ids);
      const absent = absentLabels.map((key) => labels.of(key).ids);
      return simpleFilter(
        (slot) => present.some((ids) => ids[slot] === 0) || absent.some((ids) => ids[slot] !== 0),
        "node(s) didn't have the requested labels",
        { final: true },
      );
    },
    score(_, { labels }) {
      const rules = liked.length + disliked.length;
      if (rules === 0) return undefined;
      const present = liked.map((key) => labels.of(key).ids);
      const absent = disliked.map((key) => labels.of(key).ids);
      return {
        score(slots, count, out) {
          for (let at = 0; at < count; at += 1) {
            const slot = slots[at] ?? 0;
            let met = 0;
            for (const ids of present) if (ids[slot] !== 0) met += 1;
            for (const ids of absent) if (ids[slot] === 0) met += 1;
            out[at] = Math.floor((MAX_SCORE * met) / rules);
          }
        },
      };
    },
    helps: ({ node }) =>
      node === undefined ||
      (presentLabels.every((key) => has(node.metadata.labels, key)) &&
        absentLabels.every((key) => !has(node.metadata.labels, key))),
  };
};
