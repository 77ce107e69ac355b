// Removes fields that an applier no longer applies, also where others may own them in versions that a webhook converts.
// Guarantees: only fields that nobody owns in any version are removed; if nothing is removed, nothing is converted,
// because a webhook may be unable to convert an object that lacks fields.
import type { KubeObject } from '../../api/object.js';
import { atOnce } from '../../api/steps.js';
import { difference, EMPTY, type FieldSet, intersection, isEmptySet, union } from './fieldSet.js';
import type { Manager } from './managers.js';
import { rootShape, type Shape } from './shape.js';
import { changesBetween, removePaths } from './typed.js';
import type { Versions } from './versions.js';

interface Pruning {
  /** The live object with the configuration merged into it. */
  readonly merged: KubeObject;
  /** The applier as it was before. */
  readonly last: Manager | undefined;
  /** Everybody, the applier with what it names now. */
  readonly managers: Iterable<Manager>;
}

/** In the version in which it was given. */
export async function pruneAcross(
  { merged, last, managers }: Pruning,
  versions: Versions,
): Promise<KubeObject> {
  const kind = last === undefined ? undefined : versions.kindOf(last.id.apiVersion);
  if (last === undefined || kind === undefined) return merged;
  const { apiVersion } = last.id;
  const owned = ownedByVersion(managers);
  const kept = owned.get(apiVersion) ?? EMPTY;
  const gone = difference(last.set, kept);
  if (isEmptySet(gone)) return merged;

  const shape = rootShape(kind);
  const before = await inVersion(merged, apiVersion);
  // First what is owned in this version stays: others may need it to be converted.
  let left = removePaths(shape, before, gone, kept) as KubeObject;
  for (const [version, theirs] of owned) {
    if (version !== apiVersion) left = await withTheirs(left, version, theirs);
  }
  const lost = lostBetween(shape, before, await inVersion(left, apiVersion));
  const result = removePaths(shape, before, intersection(lost, gone), kept) as KubeObject;
  return inVersion(result, merged.apiVersion ?? '');

  async function inVersion(object: KubeObject, version: string): Promise<KubeObject> {
    if (object.apiVersion === version) return object;
    const [converted = {}] = await versions.convert([object], version);
    return converted;
  }

  /** What went, but for what is owned in that version. */
  async function withTheirs(rest: KubeObject, version: string, theirs: FieldSet): Promise<KubeObject> {
    const form = versions.kindOf(version);
    if (form === undefined) return rest;
    const whole = await inVersion(merged, version);
    const own = rootShape(form);
    const lost = lostBetween(own, whole, await inVersion(rest, version));
    return removePaths(own, whole, difference(lost, theirs), theirs) as KubeObject;
  }
}

/** In place of what went there may be a default. */
function lostBetween(shape: Shape, before: KubeObject, after: KubeObject): FieldSet {
  const { removed, written } = atOnce(changesBetween(shape, before, after));
  return union(removed, written);
}

function ownedByVersion(managers: Iterable<Manager>): ReadonlyMap<string, FieldSet> {
  const found = new Map<string, FieldSet>();
  for (const { id, set } of managers) found.set(id.apiVersion, union(found.get(id.apiVersion) ?? EMPTY, set));
  return found;
}
