// What a pod requests must be free on the node: CPU, memory, any named resource, and a place among its pods. Pure.
import { type FilterPlugin, fits, rejects } from '../plugin.js';

export const nodeResourcesFit: FilterPlugin = {
  name: 'NodeResourcesFit',
  wokenBy: ['node allocatable', 'pod removed'],
  filter(pod, node) {
    const reasons: string[] = [];
    if (node.podCount + 1 > node.allocatable('pods')) reasons.push('Too many pods');
    for (const [name, amount] of pod.requests)
      if (amount > 0 && amount > node.allocatable(name) - node.requested(name))
        reasons.push(`Insufficient ${name}`);
    return reasons.length === 0 ? fits : rejects(...reasons);
  },
};
