// JSON merge patch, RFC 7386. Pure.
// Guarantees: neither argument is changed; members set to null vanish, lists are replaced whole.
import { copyJson, getOwn, isMembers, type Members, setOwn } from '../own.js';

export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isMembers(patch)) return copyJson(patch);
  const result: Members = {};
  const original = isMembers(document) ? document : {};
  for (const [key, value] of Object.entries(original))
    if (!Object.hasOwn(patch, key)) setOwn(result, key, copyJson(value));
  for (const [key, value] of Object.entries(patch))
    if (value !== null) setOwn(result, key, applyMergePatch(getOwn(original, key), value));
  return result;
}
