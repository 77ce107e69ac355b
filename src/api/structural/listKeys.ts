// Lists that are sets, or whose items have keys: no two items may be the same one. Pure.
// Guarantees: linear in the instance; each doubled item is told once, where it comes the second time.
import { type Cause, duplicate, invalidValue } from '../causes.js';
import { getOwn, isMembers, type Members, setOwn } from '../ownKeys.js';
import { spendWork } from '../workLimit.js';
import type { Structural } from './schema.js';

export function checkListKeys(value: unknown, schema: Structural | undefined | null, path = ''): Cause[] {
  if (schema === undefined || schema === null || !schema.hasKeyedLists) return [];
  spendWork(2);
  if (Array.isArray(value)) {
    return [
      ...listFaults(value, schema, path),
      ...value.flatMap((item, index) => checkListKeys(item, schema.items, `${path}[${index}]`)),
    ];
  }
  if (!isMembers(value)) return [];
  return Object.keys(value).flatMap((name) => {
    const property = schema.properties.get(name);
    if (property !== undefined) return checkListKeys(value[name], property, join(path, name));
    return checkListKeys(value[name], schema.additional, `${path}[${name}]`);
  });
}

const join = (path: string, name: string) => (path === '' ? name : `${path}.${name}`);

function listFaults(items: readonly unknown[], { listType, listKeys }: Structural, path: string): Cause[] {
  if (listType === 'set') return repeated(items).map((index) => duplicate(`${path}[${index}]`, items[index]));
  if (listType !== 'map') return [];
  const wrong = items.findIndex((item) => item !== null && !isMembers(item));
  if (wrong !== -1)
    return [
      invalidValue(`${path}[${wrong}]`, items[wrong], 'must be an object for an array of list-type map'),
    ];
  const keys = items.map((item) => keyOf(item, listKeys));
  return repeated(keys).map((index) => duplicate(`${path}[${index}]`, keys[index]));
}

function keyOf(item: unknown, names: readonly string[]): Members {
  const key: Members = {};
  for (const name of names) {
    const value = isMembers(item) ? getOwn(item, name) : undefined;
    if (value !== undefined) setOwn(key, name, value);
  }
  return key;
}

/** Where an item comes the second time. */
function repeated(items: readonly unknown[]): number[] {
  const times = new Map<string, number>();
  spendWork(items.length * 10);
  return items.flatMap((item, index) => {
    const text = sortedJson(item);
    const before = times.get(text) ?? 0;
    times.set(text, before + 1);
    return before === 1 ? [index] : [];
  });
}

/** Members in order, so that equal values have equal texts. */
export function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  if (!isMembers(value)) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${sortedJson(value[name])}`).join(',')}}`;
}
