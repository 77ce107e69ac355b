// Server-side apply: a configuration merged into the live object, its fields owned by the applier. Pure.
// Guarantees: a field of another manager is changed only by force; what the applier gave up and nobody else owns goes.
import { decodeModel } from '../../api/decode.js';
import type { V1ManagedFieldsEntry, V1StatusCause } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { type ApiError, statusError } from '../../api/status.js';
import type { Steps } from '../../api/steps.js';
import {
  difference,
  EMPTY,
  type FieldSet,
  intersection,
  isEmptySet,
  pathsOf,
  pathText,
  sameSet,
  union,
  without,
} from './fieldSet.js';
import { IGNORED } from './ignored.js';
import { type Manager, type ManagerId, managerKey, readManagers, writeManagers } from './managers.js';
import { rootShape } from './shape.js';
import type { Writer } from './track.js';
import { changesBetween, fieldSetOf, mergeValues, removePaths } from './typed.js';

export interface Application {
  readonly object: KubeObject;
  readonly managedFields: V1ManagedFieldsEntry[];
}

export interface ApplyRequest {
  readonly kind: Pick<KindDefinition, 'model' | 'custom'>;
  /** Undefined when the object is not there yet. */
  readonly live: KubeObject | undefined;
  readonly config: KubeObject;
  readonly writer: Writer;
  readonly force: boolean;
}

/** Throws Conflict with a cause for each field that belongs to another manager. */
export function* applyConfiguration({ kind, live, config, writer, force }: ApplyRequest): Steps<Application> {
  const shape = rootShape(kind);
  const self = managerKey(writer.id);
  yield;
  const managers = withHistory(live, shape, writer);
  yield;
  const set = without(fieldSetOf(shape, config), IGNORED);
  yield;
  const last = managers.get(self)?.set ?? EMPTY;
  const others = new Map([...managers].filter(([key]) => key !== self));
  const owned = [...others.values()].reduce((all, manager) => union(all, manager.set), set);
  yield;
  const merged = mergeValues(shape, live, config);
  yield;
  const left = removePaths(shape, merged, difference(last, set), owned);
  yield;
  // As it will be stored: what is not, such as an empty list, is no change either.
  const object =
    kind.custom === undefined
      ? (decodeModel<KubeObject>(kind.model, left).object as KubeObject)
      : (left as KubeObject);

  yield;
  const { written, removed } = yield* changesBetween(shape, live ?? {}, object);
  yield;
  const conflicts = conflictsOf(others, written);
  if (conflicts.length > 0 && !force) throw conflictError(conflicts);
  const after = new Map<string, Manager>();
  for (const [key, manager] of others) {
    after.set(key, { ...manager, set: difference(difference(manager.set, removed), written) });
  }
  yield;
  const unchanged = sameSet(last, set) && isEmptySet(without(union(written, removed), IGNORED));
  const time = unchanged ? managers.get(self)?.time : writer.time;
  after.set(self, { id: writer.id, time, set });
  yield;
  return { object, managedFields: writeManagers(after) };
}

/** What was there before anybody's fields were kept belongs to a manager of its own: it must not go unnoticed. */
function withHistory(
  live: KubeObject | undefined,
  shape: ReturnType<typeof rootShape>,
  { id, time }: Writer,
) {
  const managers = readManagers(live?.metadata?.managedFields);
  if (live === undefined || managers.size > 0) return managers;
  const before: ManagerId = { ...id, name: 'before-first-apply', operation: 'Update' };
  const set = without(fieldSetOf(shape, live), IGNORED);
  return new Map([[managerKey(before), { id: before, time, set }]]);
}

interface FieldConflict {
  readonly manager: ManagerId;
  readonly path: string;
}

function conflictsOf(others: ReadonlyMap<string, Manager>, written: FieldSet): readonly FieldConflict[] {
  return [...others.values()].flatMap(({ id, set }) =>
    [...pathsOf(intersection(set, written))].map((path) => ({ manager: id, path: pathText(path) })),
  );
}

function conflictError(conflicts: readonly FieldConflict[]): ApiError {
  const causes: V1StatusCause[] = conflicts.map(({ manager, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${managerText(manager)}`,
    field: path,
  }));
  return statusError('Conflict', `Apply failed with ${conflictText(conflicts)}`, { causes });
}

function conflictText(conflicts: readonly FieldConflict[]): string {
  const [first] = conflicts;
  if (first !== undefined && conflicts.length === 1) {
    return `1 conflict: conflict with ${managerText(first.manager)}: ${first.path}`;
  }
  const names = [...new Set(conflicts.map(({ manager }) => managerText(manager)))].sort();
  const lines = names.flatMap((name) => [
    `conflicts with ${name}:`,
    ...conflicts.filter(({ manager }) => managerText(manager) === name).map(({ path }) => `- ${path}`),
  ]);
  return `${conflicts.length} conflicts: ${lines.join('\n')}`;
}

function managerText({ name, operation, apiVersion, subresource }: ManagerId): string {
  const part = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  return `${JSON.stringify(name)}${part}${operation === 'Update' ? ` using ${apiVersion}` : ''}`;
}
