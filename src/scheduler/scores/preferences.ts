// Preferences: taints that only ask to stay away, and node affinity that only wishes. Pure.
import { matchesTerm } from '../nodeSelector.js';
import { type ScorePlugin, scaledToHighest } from '../plugin.js';
import { tolerates } from '../tolerations.js';

export const taintTolerationScore: ScorePlugin = {
  name: 'TaintToleration',
  weight: 3,
  score: (pod, { node }) =>
    (node?.spec?.taints ?? []).filter(
      (taint) => taint.effect === 'PreferNoSchedule' && !tolerates(pod.spec.tolerations, taint),
    ).length,
  normalize: (scores) => scaledToHighest(scores, { reverse: true }),
};

export const nodeAffinityScore: ScorePlugin = {
  name: 'NodeAffinity',
  weight: 2,
  score(pod, { node }) {
    if (node === undefined) return 0;
    const wishes = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    return wishes.reduce(
      (sum, { weight, preference }) => sum + (matchesTerm(preference, node) ? weight : 0),
      0,
    );
  },
  normalize: (scores) => scaledToHighest(scores, { reverse: false }),
};
