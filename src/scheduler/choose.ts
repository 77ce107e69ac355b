// The choice of a node for a pod: filter, score, pick. Pure: nothing outside its own scratch changes.
// Guarantees: the same snapshot with the same start and random gives the same choice; nothing is allocated per node.

import { type Diagnosis, diagnose, REJECTED, REJECTED_FOR_GOOD, Rejections } from './diagnosis.js';
import { FilterRun } from './filterRun.js';
import type { Nominations } from './nominations.js';
import type { Plugin } from './plugin.js';
import type { PodInfo } from './podInfo.js';
import type { Snapshot } from './snapshot/snapshot.js';
import type { Verdicts } from './verdicts.js';

export interface WeightedPlugin {
  readonly plugin: Plugin;
  readonly weight: number;
}

export interface Profile {
  readonly schedulerName: string;
  /** In this order; the first that rejects a node speaks for it. */
  readonly filters: readonly Plugin[];
  readonly scores: readonly WeightedPlugin[];
  /** 0 lets the size of the cluster decide. */
  readonly percentageOfNodesToScore: number;
  readonly preempts: boolean;
}

/** Memory for choices, used again and again. One a scheduler. */
export class Scratch {
  feasible = new Int32Array(0);
  status = new Uint8Array(0);
  totals = new Float64Array(0);
  scores = new Float64Array(0);

  /** Room for so many slots; what each slot said last time is forgotten. */
  prepare(slots: number): void {
    if (this.feasible.length < slots) {
      const size = slots * 2;
      this.feasible = new Int32Array(size);
      this.status = new Uint8Array(size);
      this.totals = new Float64Array(size);
      this.scores = new Float64Array(size);
    } else this.status.fill(0, 0, slots);
  }
}

interface ChooseOptions {
  readonly scratch: Scratch;
  /** Where in the order of nodes to begin. */
  readonly start: number;
  readonly nominations?: Nominations;
  /** What nodes said to pods like this one. */
  readonly verdicts?: Verdicts | undefined;
  random(): number;
}

export interface Choice {
  /** The chosen slot, or -1. */
  readonly slot: number;
  /** How many nodes were looked at: where the next choice begins. */
  readonly visited: number;
  /** How many of them take the pod: the first so many of `scratch.feasible`. */
  readonly feasible: number;
  /** Why there is none. */
  readonly diagnosis: Diagnosis | undefined;
  readonly score: number;
}

export function chooseNode(
  pod: PodInfo,
  snapshot: Snapshot,
  profile: Profile,
  { scratch, start, nominations, verdicts, random }: ChooseOptions,
): Choice {
  scratch.prepare(snapshot.table.size);
  const run = new FilterRun(pod, snapshot, profile.filters);
  const order = snapshot.order();
  const slots = run.refused === undefined ? (run.only() ?? order) : [];
  const enough = feasibleToFind(order.length, profile.percentageOfNodesToScore);
  const rejections = new Rejections();
  const { feasible, status } = scratch;
  const takes = (slot: number) => {
    if (!run.test(slot)) return false;
    const others = nominations?.beside(pod, slot);
    return others === undefined || run.testBeside(slot, others);
  };
  const shared = run.seesOnlySums() ? verdicts : undefined;
  const isRefused = (slot: number) => {
    const known = shared?.refusal(slot, run);
    if (known === undefined && takes(slot)) return false;
    const isFinal = known?.isFinal ?? run.isFinal(slot);
    // Beside a promised pod that minds its neighbours, pods that ask for the same may fare differently.
    if (known === undefined && run.seesOnlySums(nominations?.beside(pod, slot)))
      shared?.keepRefusal(slot, run, isFinal);
    status[slot] = isFinal ? REJECTED_FOR_GOOD : REJECTED;
    return true;
  };
  // Who made room on a node goes there, if it has come free; only if not, elsewhere.
  const promised = snapshot.table.slotOf(nominations?.nodeOf(pod.key) ?? '');
  if (promised !== undefined && slots.includes(promised) && takes(promised)) {
    feasible[0] = promised;
    return { slot: promised, visited: 0, feasible: 1, score: 0, diagnosis: undefined };
  }
  let count = 0;
  let visited = 0;
  let at = slots === order ? start % Math.max(1, slots.length) : 0;
  for (; visited < slots.length && count < enough; visited += 1) {
    const slot = slots[at] ?? 0;
    at = at + 1 === slots.length ? 0 : at + 1;
    if (isRefused(slot)) rejections.note(run.failed, run.code);
    else feasible[count++] = slot;
  }
  if (count === 0)
    return { slot: -1, visited, feasible: 0, score: 0, diagnosis: diagnose(run, rejections, order.length) };
  const best = bestOf(pod, snapshot, profile, { scratch, count, random });
  return { ...best, visited, feasible: count, diagnosis: undefined };
}

const LEAST_TO_FIND = 100;
const LEAST_PERCENTAGE = 5;

/** Big clusters need not be searched to the end: the more nodes, the smaller the share that must be found to fit. */
export function feasibleToFind(nodes: number, percentage: number): number {
  if (nodes < LEAST_TO_FIND) return nodes;
  const share = percentage > 0 ? percentage : Math.max(50 - Math.floor(nodes / 125), LEAST_PERCENTAGE);
  return Math.max(Math.floor((nodes * Math.min(share, 100)) / 100), LEAST_TO_FIND);
}

/** One of the nodes with the highest weighted score, each of them as likely as the others. */
function bestOf(
  pod: PodInfo,
  snapshot: Snapshot,
  { scores: plugins }: Profile,
  { scratch, count, random }: { scratch: Scratch; count: number; random(): number },
): { slot: number; score: number } {
  const { feasible, totals, scores } = scratch;
  if (count === 1) return { slot: feasible[0] ?? -1, score: 0 };
  totals.fill(0, 0, count);
  for (const { plugin, weight } of plugins) {
    const scorer = plugin.score?.(pod, snapshot);
    if (scorer === undefined) continue;
    scorer.score(feasible, count, scores);
    for (let at = 0; at < count; at += 1) totals[at] = (totals[at] ?? 0) + weight * (scores[at] ?? 0);
  }
  let highest = Number.NEGATIVE_INFINITY;
  let winners = 0;
  for (let at = 0; at < count; at += 1) {
    const total = totals[at] ?? 0;
    if (total > highest) winners = 0;
    if (total >= highest) {
      highest = total;
      winners += 1;
    }
  }
  let skip = Math.floor(random() * winners);
  for (let at = 0; at < count; at += 1)
    if (totals[at] === highest && skip-- === 0) return { slot: feasible[at] ?? -1, score: highest };
  return { slot: -1, score: highest };
}
