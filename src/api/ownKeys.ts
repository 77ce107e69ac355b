// Own members of objects whose keys came from outside. Pure.
// Guarantees: a key such as __proto__ or constructor is data like any other: never a prototype's member.

export type Members = Record<string, unknown>;

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function getOwn<V>(members: Readonly<Record<string, V>> | undefined, key: string): V | undefined {
  return members !== undefined && Object.hasOwn(members, key) ? members[key] : undefined;
}

/** Plain assignment to __proto__ would change what the object inherits. */
export function setOwn(members: Members, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(members, key, { value, enumerable: true, configurable: true, writable: true });
  else members[key] = value;
}

/** A copy of a JSON value that shares nothing with it. */
export function copyJson<V>(value: V): V {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson) as V;
  // Made whole: an object that grows member by member is moved again and again.
  const copy: Members = { ...(value as Members) };
  for (const key of Object.keys(copy)) {
    const member = copy[key];
    if (typeof member === 'object' && member !== null) setOwn(copy, key, copyJson(member));
  }
  return copy as V;
}

/** Same JSON, whatever the order of members. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left))
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => sameJson(item, right[index]))
    );
  if (!isMembers(left) || !isMembers(right)) return false;
  // A member that is undefined is not on the wire: it equals an absent one.
  let more = 0;
  for (const key of Object.keys(left)) {
    const value = left[key];
    if (value === undefined) continue;
    if (!sameJson(value, getOwn(right, key))) return false;
    more += 1;
  }
  for (const key of Object.keys(right)) if (right[key] !== undefined) more -= 1;
  return more === 0;
}

const MAX_DEPTH = 1000;

/** True when the value nests so deep that a recursive walk could exhaust the stack. Itself not recursive. */
export function isTooDeep(value: unknown, limit: number = MAX_DEPTH): boolean {
  let level: object[] = typeof value === 'object' && value !== null ? [value] : [];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= limit) return true;
    const next: object[] = [];
    for (const container of level) {
      if (Array.isArray(container)) {
        for (const member of container) if (typeof member === 'object' && member !== null) next.push(member);
        continue;
      }
      const members = container as Members;
      for (const key of Object.keys(members)) {
        const member = members[key];
        if (typeof member === 'object' && member !== null) next.push(member);
      }
    }
    level = next;
  }
  return false;
}
