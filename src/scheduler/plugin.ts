// What a scheduling plugin is: pure functions that look at a pod once and then judge nodes by their slots.
// Guarantees: plugins keep no state and touch nothing; judging a node allocates nothing.
import type { ClusterEvent, EventKind } from './events.js';
import type { PodInfo } from './podInfo.js';
import type { Snapshot } from './snapshot/snapshot.js';

export interface NodeFilter {
  /** 0 when the node takes the pod; otherwise the number of a reason. */
  test(slot: number): number;
  /** What the number means, for people. */
  reasons(code: number): readonly string[];
  /** Whether no removal of pods could change it. */
  isFinal(code: number, slot: number): boolean;
  /** When only these slots come into question: the rest is not even looked at. */
  readonly only?: readonly number[];
}

export interface NodeScorer {
  /** Writes the final score, 0 to 100, of each of the first `count` slots. */
  score(slots: Int32Array, count: number, out: Float64Array): void;
}

export interface Plugin {
  readonly name: string;
  /** Undefined when it has nothing against this pod anywhere. A refusal of the pod as a whole is a `Refused`. */
  filter?(pod: PodInfo, snapshot: Snapshot): NodeFilter | Refused | undefined;
  /** Whether the filter asks more of a node's pods than the sums of their requests. */
  readonly looksAtPods?: boolean;
  /** Whether other nodes' pods matter to the filter, so that it must look anew when one of them goes. */
  readonly looksAround?: boolean;
  /** Undefined when all nodes are the same to it. */
  score?(pod: PodInfo, snapshot: Snapshot): NodeScorer | undefined;
  /** What can change its refusal. */
  readonly wokenBy: readonly EventKind[];
  /** Whether this very change could; absent means it always could. */
  helps?(event: ClusterEvent, pod: PodInfo, snapshot: Snapshot): boolean;
}

/** The pod can go nowhere, for a reason that has nothing to do with any one node. */
export interface Refused {
  readonly refused: string;
}

export const isRefused = (judged: NodeFilter | Refused): judged is Refused => 'refused' in judged;

export const MAX_SCORE = 100;

/** A filter with one reason. */
export function simpleFilter(
  rejects: (slot: number) => boolean,
  reason: string,
  { final }: { final: boolean },
): NodeFilter {
  const reasons = [reason];
  return {
    test: (slot) => (rejects(slot) ? 1 : 0),
    reasons: () => reasons,
    isFinal: () => final,
  };
}

/** Scales to the highest, in place; with `reverse`, the lowest raw score becomes the best. */
export function scaleToHighest(scores: Float64Array, count: number, { reverse }: { reverse: boolean }): void {
  let highest = 0;
  for (let at = 0; at < count; at += 1) highest = Math.max(highest, scores[at] ?? 0);
  for (let at = 0; at < count; at += 1) {
    const scaled = highest === 0 ? 0 : Math.floor((MAX_SCORE * (scores[at] ?? 0)) / highest);
    scores[at] = reverse ? MAX_SCORE - scaled : scaled;
  }
}
