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
import { type ChangesByVersion, changesFor, type Writer } from './track.js';
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
export function* applyConfiguration(request: ApplyRequest): Steps<Application> {
  const merged = yield* mergeConfiguration(request, managersBefore(request));
  return yield* settle(request, merged);
}

type Managers = ReadonlyMap<string, Manager>;

/** Whose fields they are before the configuration is applied. */
export function managersBefore({ kind, live, writer }: ApplyRequest): Managers {
  return withHistory(live, rootShape(kind), writer);
}

interface Merged {
  readonly object: KubeObject;
  readonly managers: Managers;
  /** The fields that the configuration names. */
  readonly set: FieldSet;
}

/** The fields that a configuration names. */
export const namedFields = ({ kind, config }: ApplyRequest): FieldSet =>
  without(fieldSetOf(rootShape(kind), config), IGNORED);

function* mergeConfiguration(request: ApplyRequest, managers: Managers): Steps<Merged> {
  const { kind, live, config, writer } = request;
  const shape = rootShape(kind);
  const self = managerKey(writer.id);
  yield;
  const set = namedFields(request);
  yield;
  const last = managers.get(self)?.set ?? EMPTY;
  const owned = [...managers].reduce((all, [key, one]) => (key === self ? all : union(all, one.set)), set);
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
  return { object, managers, set };
}

/** Who owns what afterwards. `inVersions` are the same changes as other versions have them: see trackWrite. */
export function* settle(
  { kind, live, writer, force }: ApplyRequest,
  { object, managers, set }: Merged,
  inVersions?: ChangesByVersion,
): Steps<Application> {
  const self = managerKey(writer.id);
  const own = managers.get(self);
  const others = new Map([...managers].filter(([key]) => key !== self));
  yield;
  const changes = yield* changesBetween(rootShape(kind), live ?? {}, object);
  yield;
  const of = ({ id }: Manager) => changesFor(id, { own: writer.id, changes, inVersions });
  const conflicts = conflictsOf(others, (manager) => of(manager)?.written ?? EMPTY);
  if (conflicts.length > 0 && !force) throw conflictError(conflicts);
  const after = new Map<string, Manager>();
  for (const [key, manager] of others) {
    const theirs = of(manager);
    if (theirs === undefined) continue;
    after.set(key, { ...manager, set: difference(difference(manager.set, theirs.removed), theirs.written) });
  }
  yield;
  const isNothing = isEmptySet(without(union(changes.written, changes.removed), IGNORED));
  const isSameSet = own !== undefined && own.id.apiVersion === writer.id.apiVersion && sameSet(own.set, set);
  const time = isSameSet && isNothing ? own.time : writer.time;
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

function conflictsOf(others: Managers, written: (manager: Manager) => FieldSet): readonly FieldConflict[] {
  return [...others.values()].flatMap((manager) =>
    [...pathsOf(intersection(manager.set, written(manager)))].map((path) => ({
      manager: manager.id,
      path: pathText(path),
    })),
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
