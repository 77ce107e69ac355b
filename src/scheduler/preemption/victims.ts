// Which pods of one node would have to go so that a pod fits. A what-if on the snapshot, taken back before it returns.
// Guarantees: only pods of lower priority go; those within a disruption budget go before those beyond it; as few as fit.
import type { FilterRun } from '../filterRun.js';
import type { Nominations } from '../nominations.js';
import type { PodInfo } from '../podInfo.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { Budget } from './budgets.js';
import { beyondBudget } from './budgets.js';

export interface Victims {
  readonly slot: number;
  /** The most important first. */
  readonly pods: readonly PodInfo[];
  /** How many of them a budget would have kept. */
  readonly violations: number;
}

export interface WhatIf {
  readonly pod: PodInfo;
  readonly snapshot: Snapshot;
  readonly run: FilterRun;
  readonly nominations: Nominations;
  readonly budgets: readonly Budget[];
}

export const NO_VICTIMS = 'No preemption victims found for incoming pod';

/** The victims, or the reasons why no removal on this node helps. */
export function victimsOn(slot: number, whatIf: WhatIf): Victims | readonly string[] {
  const { pod, snapshot, run, nominations, budgets } = whatIf;
  const lesser = [...(snapshot.table.pods[slot]?.values() ?? [])].filter(
    ({ priority }) => priority < pod.priority,
  );
  if (lesser.length === 0) return [NO_VICTIMS];
  const others = nominations.beside(pod, slot);
  const fits = () => {
    run.lookAround();
    return run.test(slot) && (others === undefined || run.testBeside(slot, others));
  };
  lesser.sort(byImportance);
  for (const one of lesser) snapshot.displace(one, slot);
  const gone = new Set(lesser);
  try {
    if (!fits()) return run.reasonsOf(run.failed, run.code);
    const protectedPods = beyondBudget(lesser, budgets);
    // The protected are the first to be given their place back.
    const inOrder = [
      ...lesser.filter((one) => protectedPods.has(one)),
      ...lesser.filter((one) => !protectedPods.has(one)),
    ];
    for (const one of inOrder) {
      snapshot.place(one, slot);
      if (fits()) gone.delete(one);
      else snapshot.displace(one, slot);
    }
    const pods = lesser.filter((one) => gone.has(one));
    return { slot, pods, violations: pods.filter((one) => protectedPods.has(one)).length };
  } finally {
    for (const one of gone) snapshot.place(one, slot);
    run.lookAround();
  }
}

/** Higher priority first, then who has run for longer. */
export function byImportance(left: PodInfo, right: PodInfo): number {
  if (left.priority !== right.priority) return right.priority - left.priority;
  const [a, b] = [startOf(left), startOf(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A pod that has not started counts as starting now. */
export function startOf({ pod }: PodInfo): string {
  return pod.status?.startTime ?? '9999';
}
