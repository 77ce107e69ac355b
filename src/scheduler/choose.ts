// The choice of a node for a pod: filter, score, pick. Pure.
// Guarantees: the same nodes in the same order with the same random give the same choice; a refusal says why, node by node.
import { nodeAffinity } from './filters/nodeAffinity.js';
import { nodeName } from './filters/nodeName.js';
import { nodePorts } from './filters/nodePorts.js';
import { nodeResourcesFit } from './filters/nodeResourcesFit.js';
import { nodeUnschedulable } from './filters/nodeUnschedulable.js';
import { taintToleration } from './filters/taintToleration.js';
import type { NodeInfo } from './nodeInfo.js';
import type { FilterPlugin, ScorePlugin } from './plugin.js';
import type { PodInfo } from './podInfo.js';
import { nodeAffinityScore, taintTolerationScore } from './scores/preferences.js';
import { balancedAllocation, leastAllocated } from './scores/resources.js';

export interface Profile {
  /** In this order; the first that rejects a node speaks for it. */
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly ScorePlugin[];
}

export const defaultProfile: Profile = {
  filters: [nodeUnschedulable, nodeName, taintToleration, nodeAffinity, nodePorts, nodeResourcesFit],
  scores: [taintTolerationScore, nodeAffinityScore, leastAllocated, balancedAllocation],
};

export interface Refusal {
  readonly nodeCount: number;
  /** How many nodes gave each reason. */
  readonly reasons: ReadonlyMap<string, number>;
  /** The plugins that rejected at least one node: only what changes for them can help. */
  readonly rejectedBy: ReadonlySet<string>;
}

export type Choice = { readonly node: NodeInfo } | { readonly refusal: Refusal };

export function chooseNode(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  { filters, scores }: Profile,
  random: () => number,
): Choice {
  const feasible: NodeInfo[] = [];
  const reasons = new Map<string, number>();
  const rejectedBy = new Set<string>();
  for (const node of nodes) {
    let isFeasible = true;
    for (const plugin of filters) {
      const result = plugin.filter(pod, node);
      if (result.fits) continue;
      isFeasible = false;
      rejectedBy.add(plugin.name);
      for (const reason of result.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      break;
    }
    if (isFeasible) feasible.push(node);
  }
  const best = bestOf(pod, feasible, scores, random);
  return best === undefined ? { refusal: { nodeCount: nodes.length, reasons, rejectedBy } } : { node: best };
}

/** One of the nodes with the highest weighted score, each of them as likely as the others. */
function bestOf(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  scores: readonly ScorePlugin[],
  random: () => number,
): NodeInfo | undefined {
  if (nodes.length <= 1) return nodes[0];
  const totals = new Float64Array(nodes.length);
  for (const plugin of scores) {
    const raw = nodes.map((node) => plugin.score(pod, node));
    const final = plugin.normalize?.(raw) ?? raw;
    final.forEach((score, at) => {
      totals[at] = (totals[at] ?? 0) + plugin.weight * score;
    });
  }
  const highest = totals.reduce((most, total) => Math.max(most, total));
  const winners = nodes.filter((_, at) => totals[at] === highest);
  return winners[Math.floor(random() * winners.length)];
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
export function refusalMessage({ nodeCount, reasons }: Refusal): string {
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const counted = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodeCount} nodes are available: ${counted.join(', ')}.`;
}
