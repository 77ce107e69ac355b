// The patch that brings a pod's status in the API to the one wanted. No IO.
// Guarantees: strategic merge, guarded by uid; undefined when nothing differs; conditions of others are never written,
// not even as they were when the status was made.
import type { V1PodCondition, V1PodStatus } from '../../api/gen/types.js';
import { isOwnCondition, isPassing } from './conditions.js';

type Fields = Record<string, unknown>;

/** Lists that the API merges by key: what is gone must be said. */
const MERGED: Readonly<Record<string, string>> = { conditions: 'type', podIPs: 'ip', hostIPs: 'ip' };
/** Written by others, or only once. */
const KEPT = new Set([
  'nominatedNodeName',
  'resize',
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
]);

export function statusPatch(uid: string, current: V1PodStatus, wanted: V1PodStatus): object | undefined {
  const before = current as Fields;
  const after = wanted as Fields;
  const status: Fields = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (KEPT.has(key) || isSame(before[key], after[key])) continue;
    const mergeKey = MERGED[key];
    if (mergeKey === undefined) status[key] = after[key] ?? null;
    else {
      const list =
        key === 'conditions'
          ? conditionList(current.conditions ?? [], wanted.conditions ?? [])
          : mergedList(mergeKey, asList(before[key]), asList(after[key]));
      if (list.length > 0) status[key] = list;
    }
  }
  return Object.keys(status).length === 0 ? undefined : { metadata: { uid }, status };
}

/** Without those of others. Of our own that are gone, only those that come and go are taken away. */
function conditionList(before: readonly V1PodCondition[], after: readonly V1PodCondition[]): Fields[] {
  const own = after.filter(isOwnCondition);
  const old = before.filter(
    ({ type }) => own.some((condition) => condition.type === type) || isPassing(type),
  );
  return mergedList('type', old.map(asFields), own.map(asFields));
}

function mergedList(key: string, before: readonly Fields[], after: readonly Fields[]): Fields[] {
  const gone = before.filter((old) => !after.some((item) => item[key] === old[key]));
  const changed = after.flatMap((item) => {
    const old = before.find((one) => one[key] === item[key]);
    if (old === undefined) return [item];
    if (isSame(old, item)) return [];
    // A field that went away is nulled, or it would stay.
    const nulls = Object.keys(old).filter((field) => item[field] === undefined && old[field] !== null);
    return [{ ...item, ...Object.fromEntries(nulls.map((field) => [field, null])) }];
  });
  const removed = gone.map((old) => ({ $patch: 'delete', [key]: old[key] }));
  return [...changed, ...removed];
}

const asFields = (condition: V1PodCondition): Fields => ({ ...condition });
const asList = (value: unknown) => (Array.isArray(value) ? (value as Fields[]) : []);

/** As JSON means them: undefined and null both mean absent. Makes no copies, since every quiet pod is compared. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (one === undefined || one === null || other === undefined || other === null)
    return (one ?? undefined) === (other ?? undefined);
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  if (Array.isArray(one) || Array.isArray(other))
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSame(item, other[index]))
    );
  const [left, right] = [one as Fields, other as Fields];
  for (const key in left) if (!isSame(left[key], right[key])) return false;
  for (const key in right) if (!(key in left) && !isSame(undefined, right[key])) return false;
  return true;
}
