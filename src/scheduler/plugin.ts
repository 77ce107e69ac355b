// What a scheduling plugin is: a name and pure functions of a pod and a node.
// Guarantees: plugins keep no state and touch nothing; who schedules may ask them in any order and as often as it likes.
import type { NodeInfo } from './nodeInfo.js';
import type { PodInfo } from './podInfo.js';

export type FilterResult =
  | { readonly fits: true }
  | {
      readonly fits: false;
      readonly reasons: readonly string[];
    };

export const fits: FilterResult = Object.freeze({ fits: true });

/** The reasons are told to the user, counted over the nodes. */
export function rejects(...reasons: readonly string[]): FilterResult {
  return { fits: false, reasons };
}

/** Changes in the cluster that may make room for a pod that had none. */
export type ClusterEvent =
  | 'node added'
  | 'node allocatable'
  | 'node labels'
  | 'node taints'
  | 'node schedulable'
  | 'pod removed';

export interface FilterPlugin {
  readonly name: string;
  /** Events after which a pod that this plugin rejected is worth another look. A new node always is. */
  readonly wokenBy: readonly ClusterEvent[];
  filter(pod: PodInfo, node: NodeInfo): FilterResult;
}

export interface ScorePlugin {
  readonly name: string;
  readonly weight: number;
  /** Higher is better. Within 0 to 100 unless `normalize` brings it there. */
  score(pod: PodInfo, node: NodeInfo): number;
  /** Brings the raw scores of all nodes into 0 to 100. */
  normalize?(scores: readonly number[]): readonly number[];
}

export const MAX_SCORE = 100;

/** Scales to the highest; with `reverse`, the lowest raw score becomes the best. */
export function scaledToHighest(
  scores: readonly number[],
  { reverse }: { reverse: boolean },
): readonly number[] {
  const highest = scores.reduce((most, score) => Math.max(most, score), 0);
  if (highest === 0) return scores.map(() => (reverse ? MAX_SCORE : 0));
  return scores.map((score) => {
    const scaled = Math.floor((MAX_SCORE * score) / highest);
    return reverse ? MAX_SCORE - scaled : scaled;
  });
}
