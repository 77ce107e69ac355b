// Whether two statuses say the same, to a server that leaves zero counts out. Pure.
// Guarantees: absent, zero, empty and false are one; everything else is compared in full.
import { isMembers } from '../api/ownKeys.js';

export function sameStatusMeaning(left: unknown, right: unknown): boolean {
  if (isNothing(left) || isNothing(right)) return isNothing(left) && isNothing(right);
  if (Array.isArray(left))
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => sameStatusMeaning(item, right[index]))
    );
  if (!isMembers(left) || !isMembers(right)) return left === right;
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].every((key) => sameStatusMeaning(left[key], right[key]));
}

function isNothing(value: unknown): boolean {
  if (typeof value !== 'object' || value === null)
    return value === undefined || value === null || value === 0 || value === '' || value === false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}
