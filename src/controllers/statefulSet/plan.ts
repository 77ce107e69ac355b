// What a StatefulSet does next: pods in their order, one after the other or all at once, updates from the top. Pure.
// Guarantees: OrderedReady touches one pod at a time; below the partition nothing is updated; the limit is kept.
import type { V1PodTemplateSpec } from '../../api/gen/types.js';
import { resolveIntOrPercent } from '../intOrPercent.js';
import { availableAt, isFinished, isTerminating, type Pod } from '../pods.js';
import { ordinalOf, replicasOf, revisionNameOf, type StatefulSet, startOf } from './identity.js';

export interface Template {
  /** The revision's name. */
  readonly revision: string;
  readonly template: V1PodTemplateSpec;
}

export interface StatefulSetObserved {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  readonly current: Template;
  readonly update: Template;
  readonly now: number;
}

export type StatefulSetAction =
  | { readonly do: 'create'; readonly ordinal: number; readonly from: Template }
  | { readonly do: 'delete'; readonly pod: Pod; readonly why: 'ended' | 'scaled' | 'updated' };

interface Slot {
  readonly ordinal: number;
  readonly pod: Pod | undefined;
}

interface Slots {
  /** One for each wished ordinal, ascending. */
  readonly wished: readonly Slot[];
  /** Pods outside the range, the highest first. */
  readonly condemned: readonly Pod[];
}

export function slotsOf(set: StatefulSet, pods: readonly Pod[]): Slots {
  const start = startOf(set);
  const byOrdinal = new Map<number, Pod>();
  for (const pod of pods) {
    const ordinal = ordinalOf(set, pod.metadata.name);
    if (ordinal !== undefined) byOrdinal.set(ordinal, pod);
  }
  const end = start + replicasOf(set);
  const wished = Array.from({ length: end - start }, (_, index) => ({
    ordinal: start + index,
    pod: byOrdinal.get(start + index),
  }));
  const condemned = [...byOrdinal]
    .filter(([ordinal]) => ordinal < start || ordinal >= end)
    .sort(([a], [b]) => b - a)
    .map(([, pod]) => pod);
  return { wished, condemned };
}

export function planStatefulSet(observed: StatefulSetObserved): StatefulSetAction[] {
  const { set } = observed;
  if (set.metadata.deletionTimestamp !== undefined) return [];
  const slots = slotsOf(set, observed.pods);
  const ordered = set.spec.podManagementPolicy !== 'Parallel';
  const up = planUp(slots, observed);
  if (ordered) {
    const [first] = up.actions;
    if (first !== undefined) return [first];
    if (up.waits) return [];
  }
  const down = planDown(slots, observed, ordered);
  if (ordered && slots.condemned.length > 0) return down;
  const actions = [...up.actions, ...down];
  return actions.length > 0 ? actions : planUpdate(slots, observed);
}

/** `waits` when a pod that is there is not yet what the next one needs. */
function planUp(
  { wished }: Slots,
  observed: StatefulSetObserved,
): { actions: StatefulSetAction[]; waits: boolean } {
  const actions: StatefulSetAction[] = [];
  const ordered = observed.set.spec.podManagementPolicy !== 'Parallel';
  for (const { ordinal, pod } of wished) {
    if (pod === undefined) actions.push({ do: 'create', ordinal, from: templateFor(observed, ordinal) });
    else if (isFinished(pod)) {
      if (isTerminating(pod)) {
        if (ordered) return { actions, waits: true };
      } else actions.push({ do: 'delete', pod, why: 'ended' });
    } else if (ordered && !isHealthy(pod, observed)) return { actions, waits: true };
    if (ordered && actions.length > 0) break;
  }
  return { actions, waits: false };
}

/** A pod that is made anew below the partition, or before the first update, gets the old template. */
function templateFor({ set, current, update }: StatefulSetObserved, ordinal: number): Template {
  const { type = 'RollingUpdate', rollingUpdate } = set.spec.updateStrategy ?? {};
  if (type !== 'RollingUpdate') return update;
  const below = rollingUpdate?.partition ?? 0;
  return ordinal < startOf(set) + below ? current : update;
}

function planDown(
  { wished, condemned }: Slots,
  observed: StatefulSetObserved,
  ordered: boolean,
): StatefulSetAction[] {
  const doomed = condemned.filter((pod) => !isTerminating(pod));
  if (!ordered) return doomed.map((pod) => ({ do: 'delete', pod, why: 'scaled' }));
  const [highest] = condemned;
  if (highest === undefined || isTerminating(highest)) return [];
  const all = [...wished.map(({ pod }) => pod), ...[...condemned].reverse()];
  const firstUnhealthy = all.find((pod) => pod !== undefined && !isHealthy(pod, observed));
  // The one that is unhealthy may go; a healthy one waits until those before it have settled.
  if (!isHealthy(highest, observed) && highest !== firstUnhealthy) return [];
  return [{ do: 'delete', pod: highest, why: 'scaled' }];
}

export function maxUnavailableOf(set: StatefulSet): number {
  const { maxUnavailable = 1 } = set.spec.updateStrategy?.rollingUpdate ?? {};
  return Math.max(1, resolveIntOrPercent(maxUnavailable, replicasOf(set), 'down'));
}

function planUpdate({ wished }: Slots, observed: StatefulSetObserved): StatefulSetAction[] {
  const { set, update } = observed;
  const { type = 'RollingUpdate', rollingUpdate } = set.spec.updateStrategy ?? {};
  if (type !== 'RollingUpdate') return [];
  const first = startOf(set) + (rollingUpdate?.partition ?? 0);
  const unavailable = wished.filter(({ pod }) => pod === undefined || !isHealthy(pod, observed)).length;
  const outdated = wished
    .filter(({ ordinal }) => ordinal >= first)
    .flatMap(({ pod }) => (pod === undefined ? [] : [pod]))
    .filter((pod) => revisionNameOf(pod) !== update.revision && !isTerminating(pod))
    .reverse();
  // One that does not work costs nothing to replace, and may only be healed by it.
  const broken = outdated.filter((pod) => !isHealthy(pod, observed));
  const working = outdated.filter((pod) => isHealthy(pod, observed));
  const spare = Math.max(0, maxUnavailableOf(set) - unavailable);
  return [...broken, ...working.slice(0, spare)].map((pod) => ({ do: 'delete', pod, why: 'updated' }));
}

/** Running, ready for as long as asked, and staying. */
function isHealthy(pod: Pod, { set, now }: Pick<StatefulSetObserved, 'set' | 'now'>): boolean {
  if (isTerminating(pod) || pod.status?.phase !== 'Running') return false;
  return (availableAt(pod, set.spec.minReadySeconds ?? 0) ?? Infinity) <= now;
}
