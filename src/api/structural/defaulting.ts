// The defaults of a schema, filled into an instance. Pure.
// Guarantees: idempotent; what an instance says itself is never changed, but for a null where null is not allowed; defaults
// are copied, so instances share nothing.
import { copyJson, type Members, setOwn } from '../own.js';
import type { Structural } from './schema.js';

/** Changes the value. */
export function fillDefaults(value: unknown, schema: Structural | undefined | null): void {
  if (schema === undefined || schema === null || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) fillItems(value, schema.items);
  else fillMembers(value as Members, schema);
}

function fillMembers(members: Members, schema: Structural): void {
  if (schema.hasDefaults)
    for (const [name, property] of schema.properties) {
      if (property.default === undefined) continue;
      if (!Object.hasOwn(members, name) || isWrongNull(members[name], property))
        setOwn(members, name, copyJson(property.default));
    }
  for (const name of Object.keys(members)) {
    const property = schema.properties.get(name) ?? schema.additional ?? undefined;
    if (property === undefined) continue;
    if (isWrongNull(members[name], property)) {
      if (property.default === undefined) delete members[name];
      else setOwn(members, name, copyJson(property.default));
    }
    fillDefaults(members[name], property);
  }
}

/** A null in a list keeps its place: without a default it is told by validation. */
function fillItems(items: unknown[], schema: Structural | undefined): void {
  if (schema === undefined) return;
  for (const [index, item] of items.entries()) {
    if (isWrongNull(item, schema) && schema.default !== undefined) items[index] = copyJson(schema.default);
    fillDefaults(items[index], schema);
  }
}

const isWrongNull = (value: unknown, { nullable }: Structural): boolean => value === null && !nullable;
