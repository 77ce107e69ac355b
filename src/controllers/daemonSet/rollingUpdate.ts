// The next step of a DaemonSet's rolling update. Pure.
// Guarantees: what is unavailable already counts against the limit; an old pod that does not work is replaced at once.
import { resolveIntOrPercent } from '../intOrPercent.js';
import { isTerminating, type Pod } from '../pods.js';
import { isAvailable, isOf, type NodePods } from './nodePods.js';
import type { DaemonSet } from './nodes.js';

interface RollingObserved {
  readonly set: DaemonSet;
  /** Every node that the set belongs to. */
  readonly places: readonly NodePods[];
  readonly hash: string;
  readonly now: number;
}

interface RollingStep {
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
}

function isRolling({ spec }: DaemonSet): boolean {
  return (spec.updateStrategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
}

export function limitsOf(set: DaemonSet, total: number): { maxSurge: number; maxUnavailable: number } {
  const { maxSurge = 0, maxUnavailable = 1 } = set.spec.updateStrategy?.rollingUpdate ?? {};
  const surge = resolveIntOrPercent(maxSurge, total, 'up');
  const unavailable = resolveIntOrPercent(maxUnavailable, total, 'up');
  return { maxSurge: surge, maxUnavailable: surge + unavailable === 0 ? 1 : unavailable };
}

export function surges(set: DaemonSet): boolean {
  const { maxSurge = 0 } = set.spec.updateStrategy?.rollingUpdate ?? {};
  return isRolling(set) && resolveIntOrPercent(maxSurge, 100, 'up') > 0;
}

export function planRollingUpdate(observed: RollingObserved): RollingStep {
  const { set, places } = observed;
  if (!isRolling(set)) return { create: [], remove: [] };
  const { maxSurge, maxUnavailable } = limitsOf(set, places.length);
  return maxSurge > 0 ? planSurge(observed, maxSurge) : planReplace(observed, maxUnavailable);
}

/** One of each at most; undefined when a node has two of a kind, which someone must look at first. */
function pairOf({ pods }: NodePods, hash: string): { current?: Pod; old?: Pod } | undefined {
  const live = pods.filter((pod) => !isTerminating(pod));
  const [current, second] = live.filter((pod) => isOf(pod, hash));
  const [old, another] = live.filter((pod) => !isOf(pod, hash));
  if (second !== undefined || another !== undefined) return undefined;
  return { ...(current === undefined ? {} : { current }), ...(old === undefined ? {} : { old }) };
}

function planReplace({ set, places, hash, now }: RollingObserved, maxUnavailable: number): RollingStep {
  let unavailable = 0;
  const broken: Pod[] = [];
  const candidates: Pod[] = [];
  for (const place of places) {
    const { current, old } = pairOf(place, hash) ?? {};
    if (old !== undefined && current === undefined) {
      if (isAvailable(old, set, now)) candidates.push(old);
      else {
        broken.push(old);
        unavailable++;
      }
    } else if (current === undefined || old !== undefined || !isAvailable(current, set, now)) unavailable++;
  }
  const spare = Math.max(0, maxUnavailable - unavailable);
  return { create: [], remove: [...broken, ...candidates.slice(0, spare)] };
}

function planSurge({ set, places, hash, now }: RollingObserved, maxSurge: number): RollingStep {
  let surging = 0;
  const broken: string[] = [];
  const candidates: string[] = [];
  const remove: Pod[] = [];
  for (const place of places) {
    const pair = pairOf(place, hash);
    if (pair === undefined) surging++;
    if (pair?.old === undefined) continue;
    const { name } = place.node.metadata;
    if (pair.current === undefined) (isAvailable(pair.old, set, now) ? candidates : broken).push(name);
    else if (isAvailable(pair.current, set, now)) remove.push(pair.old);
    else surging++;
  }
  const spare = Math.max(0, maxSurge - surging);
  return { create: [...broken, ...candidates.slice(0, spare)], remove };
}
