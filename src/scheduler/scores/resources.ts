// Where CPU and memory are freest, and where the two are used alike. Pure.
// Guarantees: pods that request nothing still count a little, so that they spread too; nothing is allocated per node.
import type { NodeInfo } from '../nodeInfo.js';
import { MAX_SCORE, type ScorePlugin } from '../plugin.js';
import type { PodInfo } from '../podInfo.js';

/** The part of the node's CPU or memory that would be taken with the pod on it, within 0 to 1; all of what it has not. */
function share(pod: PodInfo, node: NodeInfo, name: 'cpu' | 'memory'): number {
  const all = node.allocatable(name);
  return all === 0 ? 1 : Math.min((node.presumed[name] + pod.presumed[name]) / all, 1);
}

export const leastAllocated: ScorePlugin = {
  name: 'NodeResourcesFit',
  weight: 1,
  score: (pod, node) =>
    Math.floor((MAX_SCORE * (2 - share(pod, node, 'cpu') - share(pod, node, 'memory'))) / 2),
};

export const balancedAllocation: ScorePlugin = {
  name: 'NodeResourcesBalancedAllocation',
  weight: 1,
  score(pod, node) {
    // Of two values the standard deviation is half their distance.
    const deviation = Math.abs(share(pod, node, 'cpu') - share(pod, node, 'memory')) / 2;
    return Math.floor((1 - deviation) * MAX_SCORE);
  },
};
