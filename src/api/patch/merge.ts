// JSON merge patch, RFC 7386. Pure.
// Guarantees: neither argument is changed, though the result may share values with both; members set to null vanish, lists
// are replaced whole.
import { getOwn, isMembers, type Members, setOwn } from '../ownKeys.js';

export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isMembers(patch)) return patch;
  const original = isMembers(document) ? document : {};
  const result: Members = { ...original };
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null) delete result[key];
    else setOwn(result, key, isMembers(value) ? applyMergePatch(getOwn(original, key), value) : value);
  }
  return result;
}
