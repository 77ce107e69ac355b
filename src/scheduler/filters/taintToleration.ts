// Taints keep pods away that do not tolerate them. Pure.
import { type FilterPlugin, fits, rejects } from '../plugin.js';
import { tolerates } from '../tolerations.js';

export const taintToleration: FilterPlugin = {
  name: 'TaintToleration',
  wokenBy: ['node taints'],
  filter(pod, { node }) {
    const keepsAway = (node?.spec?.taints ?? []).some(
      (taint) =>
        (taint.effect === 'NoSchedule' || taint.effect === 'NoExecute') &&
        !tolerates(pod.spec.tolerations, taint),
    );
    return keepsAway ? rejects('node(s) had untolerated taint(s)') : fits;
  },
};
