// Where CPU and memory are freest, and where the two are used alike. Pure.
// Guarantees: pods that request nothing still count a little, so that they spread too.
import type { NodeInfo } from '../nodeInfo.js';
import { MAX_SCORE, type ScorePlugin } from '../plugin.js';
import type { PodInfo } from '../podInfo.js';

/** The parts of the node's CPU and memory that would be taken with the pod on it, each within 0 to 1. */
function shares(pod: PodInfo, node: NodeInfo): readonly number[] {
  return (['cpu', 'memory'] as const).flatMap((name) => {
    const all = node.allocatable(name);
    return all === 0 ? [] : [Math.min((node.presumed[name] + pod.presumed[name]) / all, 1)];
  });
}

export const leastAllocated: ScorePlugin = {
  name: 'NodeResourcesFit',
  weight: 1,
  score(pod, node) {
    const taken = shares(pod, node);
    if (taken.length === 0) return 0;
    return Math.floor((MAX_SCORE * taken.reduce((sum, share) => sum + 1 - share, 0)) / taken.length);
  },
};

export const balancedAllocation: ScorePlugin = {
  name: 'NodeResourcesBalancedAllocation',
  weight: 1,
  score(pod, node) {
    const [cpu, memory] = shares(pod, node);
    // Of two values the standard deviation is half their distance.
    const deviation = cpu === undefined || memory === undefined ? 0 : Math.abs(cpu - memory) / 2;
    return Math.floor((1 - deviation) * MAX_SCORE);
  },
};
