// What a namespace that is being emptied says of its remains. Pure.
// Guarantees: every condition is always present; transition times change only with the status.
import type { V1NamespaceCondition } from '../../api/gen/types.js';
import { stampOf } from '../pods.js';

export interface Remains {
  /** Objects still there, by `resource.group`. */
  readonly objects: ReadonlyMap<string, number>;
  /** How many of them wait for each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  readonly discoveryFailure?: string | undefined;
  readonly deletionFailure?: string | undefined;
}

interface Wanted {
  readonly type: string;
  readonly fault: string | undefined;
  readonly reasons: readonly [bad: string, good: string];
  readonly good: string;
}

export function namespaceConditions(
  present: readonly V1NamespaceCondition[],
  { objects, finalizers, discoveryFailure, deletionFailure }: Remains,
  now: number,
): readonly V1NamespaceCondition[] {
  const listed = (entries: ReadonlyMap<string, number>, each: (name: string, count: number) => string) =>
    [...entries]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => each(name, count))
      .join(', ');
  const remaining = listed(objects, (name, count) => `${name} has ${count} resource instances`);
  const waiting = listed(finalizers, (name, count) => `${name} in ${count} resource instances`);
  const wanted: readonly Wanted[] = [
    {
      type: 'NamespaceDeletionDiscoveryFailure',
      fault: discoveryFailure,
      reasons: ['DiscoveryFailed', 'ResourcesDiscovered'],
      good: 'All resources successfully discovered',
    },
    {
      type: 'NamespaceDeletionGroupVersionParsingFailure',
      fault: undefined,
      reasons: ['GroupVersionParsingFailed', 'ParsedGroupVersions'],
      good: 'All legacy kube types successfully parsed',
    },
    {
      type: 'NamespaceDeletionContentFailure',
      fault: deletionFailure,
      reasons: ['ContentDeletionFailed', 'ContentDeleted'],
      good: 'All content successfully deleted, may be waiting on finalization',
    },
    {
      type: 'NamespaceContentRemaining',
      fault: remaining === '' ? undefined : `Some resources are remaining: ${remaining}`,
      reasons: ['SomeResourcesRemain', 'ContentRemoved'],
      good:
        discoveryFailure === undefined
          ? 'All content successfully removed'
          : 'All content of the kinds that were discovered is removed',
    },
    {
      type: 'NamespaceFinalizersRemaining',
      fault:
        waiting === '' ? undefined : `Some content in the namespace has finalizers remaining: ${waiting}`,
      reasons: ['SomeFinalizersRemain', 'ContentHasNoFinalizers'],
      good: 'All content-preserving finalizers finished',
    },
  ];
  const types = new Set(wanted.map(({ type }) => type));
  const others = present.filter(({ type }) => !types.has(type));
  return [...others, ...wanted.map((each) => conditionOf(each, present, now))];
}

function conditionOf(
  { type, fault, reasons: [bad, good], good: allWell }: Wanted,
  present: readonly V1NamespaceCondition[],
  now: number,
): V1NamespaceCondition {
  const old = present.find((condition) => condition.type === type);
  const status = fault === undefined ? 'False' : 'True';
  const lastTransitionTime = old?.status === status ? old.lastTransitionTime : stampOf(now);
  return {
    type,
    status,
    reason: fault === undefined ? good : bad,
    message: fault ?? allWell,
    lastTransitionTime,
  };
}
