// Which pods of one node would have to go so that a pod fits. A what-if on the snapshot, taken back before it returns.
// Guarantees: only pods of lower priority go; those within a disruption budget go before those beyond it; as few as fit.
import type { FilterRun } from '../filterRun.js';
import type { Nominations } from '../nominations.js';
import { type PodInfo, startOf } from '../podInfo.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import type { Verdicts } from '../verdicts.js';
import { type Budgets, beyondBudget } from './budgets.js';

export interface Victims {
  readonly slot: number;
  /** The most important first. */
  readonly pods: readonly PodInfo[];
  /** How many of them a budget would have kept. */
  readonly violations: number;
  /** Of their priorities, shifted so that a negative one still counts as one more victim. */
  readonly sum: number;
  /** Of the victims that matter most, when the first started. */
  readonly start: string;
}

/** The victims; or whether nobody on the node matters less, or the pod would not fit without them (the run tells why). */
export type Found = Victims | 'nobody' | 'unfit';

/** Victims and all by which they are held against others. `pods`: the most important first. */
export function victimsOf(slot: number, pods: readonly PodInfo[], violations: number): Victims {
  let sum = 0;
  for (const { priority } of pods) sum += priority + 2 ** 31;
  return { slot, pods, violations, sum, start: pods[0] === undefined ? '' : startOf(pods[0]) };
}

export interface WhatIf {
  readonly pod: PodInfo;
  readonly snapshot: Snapshot;
  readonly run: FilterRun;
  readonly nominations: Nominations;
  readonly budgets: Budgets;
  /** What nodes said to pods like this one. */
  readonly verdicts?: Verdicts | undefined;
}

export function victimsOn(slot: number, whatIf: WhatIf): Found {
  const { pod, snapshot, run, nominations, budgets, verdicts } = whatIf;
  const known = verdicts?.victims(slot, run, budgets);
  if (known !== undefined) return known;
  const lesser = below(snapshot.table.ranked(slot), pod.priority);
  const others = nominations.beside(pod, slot);
  const onlySums = run.seesOnlySums(others);
  const begin = onlySums ? sumsOf : wholeNode;
  const found = lesser.length === 0 ? 'nobody' : without(lesser, slot, budgets, begin(slot, whatIf, others));
  if (onlySums) verdicts?.keepVictims(slot, run, budgets, found);
  return found;
}

/** Whom of those that matter less the pod cannot do with. */
function without(lesser: readonly PodInfo[], slot: number, budgets: Budgets, trial: Trial): Found {
  for (const one of lesser) trial.displace(one);
  let stay: readonly PodInfo[] = [];
  try {
    if (!trial.fits()) return 'unfit';
    const protectedPods = beyondBudget(lesser, budgets);
    stay = spared(lesser, protectedPods, trial);
    const pods = stay.length === 0 ? lesser : lesser.filter((one) => !stay.includes(one));
    // It fits as things are: whatever keeps it away is nothing that going could change.
    if (pods.length === 0) return 'nobody';
    return victimsOf(slot, pods, countOf(pods, protectedPods));
  } finally {
    for (const one of lesser) if (!stay.includes(one)) trial.place(one);
    trial.end();
  }
}

/** Those of a ranked list that matter less. */
function below(ranked: readonly PodInfo[], priority: number): readonly PodInfo[] {
  const first = ranked.findIndex((one) => one.priority < priority);
  return first <= 0 ? (first === 0 ? ranked : []) : ranked.slice(first);
}

/** The displaced that may have their place back: the protected are asked first, and of each kind who matters most. */
function spared(
  lesser: readonly PodInfo[],
  protectedPods: ReadonlySet<PodInfo>,
  { place, displace, fits }: Trial,
): readonly PodInfo[] {
  const stay: PodInfo[] = [];
  const ask = (one: PodInfo) => {
    place(one);
    if (fits()) stay.push(one);
    else displace(one);
  };
  if (protectedPods.size > 0) for (const one of lesser) if (protectedPods.has(one)) ask(one);
  for (const one of lesser) if (!protectedPods.has(one)) ask(one);
  return stay;
}

function countOf(pods: readonly PodInfo[], among: ReadonlySet<PodInfo>): number {
  return among.size === 0 ? 0 : pods.filter((one) => among.has(one)).length;
}

/** Pods moved on trial. */
interface Trial {
  place(pod: PodInfo): void;
  displace(pod: PodInfo): void;
  fits(): boolean;
  end(): void;
}

/** When nothing but requests matters, only their sums are moved. */
function sumsOf(slot: number, { snapshot: { table }, run }: WhatIf, others: readonly PodInfo[] = []): Trial {
  // A pod that is gone in the end must not be needed, and here less taken is never worse: one test says both.
  for (const other of others) table.lend(slot, other, 1);
  return {
    place: (pod) => table.lend(slot, pod, 1),
    displace: (pod) => table.lend(slot, pod, -1),
    fits: () => run.test(slot),
    end() {
      for (const other of others) table.lend(slot, other, -1);
    },
  };
}

function wholeNode(slot: number, { snapshot, run }: WhatIf, others: readonly PodInfo[] | undefined): Trial {
  return {
    place: (pod) => snapshot.place(pod, slot),
    displace: (pod) => snapshot.displace(pod, slot),
    fits() {
      run.lookAround();
      return run.test(slot) && (others === undefined || run.testBeside(slot, others));
    },
    end: () => run.lookAround(),
  };
}
