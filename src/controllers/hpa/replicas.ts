// How many pods a metric asks for, from what the pods were measured at. Pure.
// Guarantees: unready and unmeasured pods are assumed on the careful side; a change of direction means no change.
import { isTerminating, type Pod, podCondition, timeOf } from '../pods.js';

export interface Measured {
  readonly value: number;
  /** When the measurement ended, and over how long it went. */
  readonly atMs: number;
  readonly windowMs: number;
}

export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

export interface HpaTimes {
  /** A fresh pod's CPU is that of its start, and says little. */
  readonly cpuInitializationMs: number;
  readonly initialReadinessDelayMs: number;
}

interface PodGroups {
  readonly ready: readonly string[];
  readonly unready: readonly string[];
  readonly missing: readonly string[];
}

export function groupPods(
  pods: readonly Pod[],
  measured: ReadonlyMap<string, Measured>,
  { resource, now, times }: { resource: string; now: number; times: HpaTimes },
): PodGroups {
  const groups = { ready: [] as string[], unready: [] as string[], missing: [] as string[] };
  for (const pod of pods) {
    const { name } = pod.metadata;
    const phase = pod.status?.phase;
    if (isTerminating(pod) || phase === 'Failed') continue;
    const metric = measured.get(name);
    if (phase === 'Pending') groups.unready.push(name);
    else if (metric === undefined) groups.missing.push(name);
    else if (resource === 'cpu' && isStarting(pod, metric, now, times)) groups.unready.push(name);
    else groups.ready.push(name);
  }
  return groups;
}

function isStarting(pod: Pod, { atMs, windowMs }: Measured, now: number, times: HpaTimes): boolean {
  const ready = podCondition(pod, 'Ready');
  const started = timeOf(pod.status?.startTime);
  const changed = timeOf(ready?.lastTransitionTime);
  if (ready === undefined || started === undefined || changed === undefined) return true;
  if (started + times.cpuInitializationMs > now) return ready.status === 'False' || atMs < changed + windowMs;
  return ready.status === 'False' && started + times.initialReadinessDelayMs > changed;
}

interface PerPodWish {
  readonly current: number;
  readonly groups: PodGroups;
  readonly measured: ReadonlyMap<string, Measured>;
  /** Of one pod: what it may use, as a number in the metric's own unit. */
  readonly target: number;
  /** With requests, usage and target are shares of them (target 0.5 is 50%). */
  readonly requests?: ReadonlyMap<string, number>;
  readonly tolerances: Tolerances;
}

export interface Proposal {
  readonly replicas: number;
  /** Average use of a pod, or of its request. */
  readonly usage: number;
}

/** Undefined when no pod could be measured. */
export function perPodReplicas(wish: PerPodWish): Proposal | undefined {
  const { current, groups, measured, target, requests, tolerances } = wish;
  const { ready, unready, missing } = groups;
  const usages = new Map(ready.map((name) => [name, measured.get(name)?.value ?? 0]));
  if (usages.size === 0) return undefined;
  const ratioOf = (of: ReadonlyMap<string, number>): number => {
    const used = sum(of.values());
    const base =
      requests === undefined ? of.size : sum([...of.keys()].map((name) => requests.get(name) ?? 0));
    return base === 0 ? 0 : used / base;
  };
  const usage = ratioOf(usages);
  const ratio = usage / target;
  const growsWithUnready = unready.length > 0 && ratio > 1;
  if (!growsWithUnready && missing.length === 0) {
    if (isTolerable(ratio, tolerances)) return { replicas: current, usage };
    return { replicas: Math.ceil(round(ratio * ready.length)), usage };
  }
  // Growing: those we know nothing of are taken to do nothing. Shrinking: to do all that they may.
  const full = requests === undefined ? 1 : Math.max(1, target);
  const assumed = (name: string) => (requests === undefined ? target : (requests.get(name) ?? 0) * full);
  // What is just right stays: nothing needs to be assumed of anybody.
  if (ratio !== 1) for (const name of missing) usages.set(name, ratio < 1 ? assumed(name) : 0);
  if (growsWithUnready) for (const name of unready) usages.set(name, 0);
  const careful = ratioOf(usages) / target;
  const turned = (ratio < 1 && careful > 1) || (ratio > 1 && careful < 1);
  if (isTolerable(careful, tolerances) || turned) return { replicas: current, usage };
  const replicas = Math.ceil(round(careful * usages.size));
  const backwards = (careful < 1 && replicas > current) || (careful > 1 && replicas < current);
  return { replicas: backwards ? current : replicas, usage };
}

/** One value for all pods together. */
export function totalReplicas(wish: {
  current: number;
  readyPods: number;
  value: number;
  target: number;
  tolerances: Tolerances;
}): Proposal {
  const { current, readyPods, value, target, tolerances } = wish;
  const ratio = value / target;
  if (current !== 0 && isTolerable(ratio, tolerances)) return { replicas: current, usage: value };
  return { replicas: Math.ceil(round(current === 0 ? ratio : ratio * readyPods)), usage: value };
}

/** One value, of which every pod is to take its part. */
export function sharedReplicas(wish: {
  current: number;
  value: number;
  targetPerPod: number;
  tolerances: Tolerances;
}): Proposal {
  const { current, value, targetPerPod, tolerances } = wish;
  const usage = current === 0 ? value : value / current;
  if (current !== 0 && isTolerable(value / (targetPerPod * current), tolerances))
    return { replicas: current, usage };
  return { replicas: Math.ceil(round(value / targetPerPod)), usage };
}

function isTolerable(ratio: number, { up, down }: Tolerances): boolean {
  return round(ratio) >= round(1 - down) && round(ratio) <= round(1 + up);
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** 1.1 - 1 is not 0.1 in binary; twelve digits are enough for any metric. */
function round(value: number): number {
  return Number(value.toPrecision(12));
}
