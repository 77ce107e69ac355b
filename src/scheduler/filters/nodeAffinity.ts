// The pod's nodeSelector and required node affinity. Pure.
import { matchesNode } from '../nodeSelector.js';
import { type FilterPlugin, fits, rejects } from '../plugin.js';

export const nodeAffinity: FilterPlugin = {
  name: 'NodeAffinity',
  wokenBy: ['node labels'],
  filter: (pod, { node }) =>
    node !== undefined && matchesNode(pod.spec, node)
      ? fits
      : rejects("node(s) didn't match Pod's node affinity/selector"),
};
