// Ownership over writes that are no apply: whoever changes a field owns it from then on. Pure.
// Guarantees: a write that changes nothing changes no entry; fields that are gone are owned by nobody.
import type { V1ManagedFieldsEntry } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import type { Steps } from '../../api/steps.js';
import { difference, EMPTY, isEmptySet, union, without } from './fieldSet.js';
import { IGNORED } from './ignored.js';
import { type Manager, type ManagerId, managerKey, readManagers, writeManagers } from './managers.js';
import { rootShape } from './shape.js';
import { type Changes, changesBetween } from './typed.js';

export interface Writer {
  readonly id: ManagerId;
  readonly time: string;
}

/** By apiVersion: the same change as a version has it that a webhook converts to. */
export type ChangesByVersion = ReadonlyMap<string, Changes>;

/**
 * What a change is to a manager: in the version it wrote in, where versions differ by more than their name. Undefined when
 * there is no such version any more: nothing is known of its fields.
 */
export function changesFor(
  { apiVersion }: ManagerId,
  {
    own,
    changes,
    inVersions,
  }: { own: ManagerId; changes: Changes; inVersions?: ChangesByVersion | undefined },
): Changes | undefined {
  return inVersions === undefined || apiVersion === own.apiVersion ? changes : inVersions.get(apiVersion);
}

/** The entries after a write that turned `live` into `next`; of new objects see trackNew. */
export function* trackWrite(
  kind: Pick<KindDefinition, 'model' | 'custom'>,
  live: KubeObject,
  next: KubeObject,
  { id, time }: Writer,
  inVersions?: ChangesByVersion,
): Steps<V1ManagedFieldsEntry[]> {
  const changes = yield* changesBetween(rootShape(kind), live, next);
  yield;
  const written = without(changes.written, IGNORED);
  const before = readManagers(sentEntries(live, next));
  yield;
  const after = new Map<string, Manager>();
  const self = managerKey(id);
  for (const [key, manager] of before) {
    const theirs = changesFor(manager.id, { own: id, changes, inVersions });
    if (theirs === undefined) continue;
    const kept = difference(manager.set, theirs.removed);
    const lost = theirs === changes ? written : without(theirs.written, IGNORED);
    after.set(key, { ...manager, set: key === self ? kept : difference(kept, lost) });
    yield;
  }
  if (!isEmptySet(written)) after.set(self, { id, time, set: union(after.get(self)?.set ?? EMPTY, written) });
  yield;
  return writeManagers(after);
}

/**
 * A client may rewrite the entries, or reset them with one empty entry. One that sends none does not know of them:
 * it must not erase them.
 */
export function sentEntries(live: KubeObject, next: KubeObject): readonly V1ManagedFieldsEntry[] {
  const sent = next.metadata?.managedFields ?? [];
  const [only] = sent;
  if (sent.length === 1 && only !== undefined && Object.keys(only).length === 0) return [];
  return sent.length > 0 ? sent : (live.metadata?.managedFields ?? []);
}
