// Who owns which fields of an object: metadata.managedFields as data. Pure.
// Guarantees: entries that cannot be read are left out, never fatal; the order is Kubernetes': Apply first, then by time.
import type { V1ManagedFieldsEntry } from '../../api/gen/types.js';
import type { Members } from '../../api/ownKeys.js';
import { decodeSet, EMPTY, encodeSet, type FieldSet, isEmptySet, union } from './fieldSet.js';

export interface ManagerId {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
}

export interface Manager {
  readonly id: ManagerId;
  readonly time: string | undefined;
  readonly set: FieldSet;
}

type Managers = ReadonlyMap<string, Manager>;

/** An applier keeps its fields over versions; an updater is another one in each. */
export function managerKey({ name, operation, apiVersion, subresource }: ManagerId): string {
  return JSON.stringify([operation, name, subresource, operation === 'Apply' ? '' : apiVersion]);
}

export function readManagers(entries: readonly V1ManagedFieldsEntry[] | undefined): Managers {
  const managers = new Map<string, Manager>();
  for (const entry of entries ?? []) {
    const manager = readEntry(entry);
    if (manager === undefined) continue;
    const key = managerKey(manager.id);
    const known = managers.get(key);
    managers.set(key, known === undefined ? manager : { ...manager, set: union(known.set, manager.set) });
  }
  return managers;
}

function readEntry(entry: V1ManagedFieldsEntry): Manager | undefined {
  const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsV1 } = entry;
  if (operation !== 'Apply' && operation !== 'Update') return undefined;
  const set = fieldsV1 === undefined ? EMPTY : decodeSet(fieldsV1);
  if (set === undefined) return undefined;
  return { id: { name: manager, operation, apiVersion, subresource }, time, set };
}

export function writeManagers(managers: Managers): V1ManagedFieldsEntry[] {
  const list = [...capped(managers).values()].filter(({ set }) => !isEmptySet(set)).sort(inOrder);
  return list.map(({ id, time, set }) => entryOf(id, time, encodeSet(set)));
}

export function entryOf(id: ManagerId, time: string | undefined, fields: Members): V1ManagedFieldsEntry {
  return {
    manager: id.name,
    operation: id.operation,
    apiVersion: id.apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
    ...(id.subresource === '' ? {} : { subresource: id.subresource }),
  };
}

function inOrder(a: Manager, b: Manager): number {
  const rank = ({ id, time = '' }: Manager) =>
    `${id.operation === 'Apply' ? 0 : 1}\0${time}\0${id.name}\0${id.apiVersion}\0${id.subresource}`;
  return rank(a) < rank(b) ? -1 : 1;
}

const MAX_UPDATERS = 10;
const ANCIENT = 'ancient-changes';

/** Past ten updaters the oldest become one: an object must not grow with the number of its writers. */
function capped(managers: Managers): Managers {
  const updaters = [...managers.values()]
    .filter(({ id, set }) => id.operation === 'Update' && !isEmptySet(set))
    .sort(inOrder);
  if (updaters.length <= MAX_UPDATERS) return managers;
  const result = new Map(managers);
  for (const old of updaters.slice(0, updaters.length - MAX_UPDATERS + 1)) {
    result.delete(managerKey(old.id));
    const id = { ...old.id, name: ANCIENT, subresource: '' };
    const bucket = result.get(managerKey(id));
    result.set(managerKey(id), {
      ...old,
      id,
      set: bucket === undefined ? old.set : union(bucket.set, old.set),
    });
  }
  return result;
}
