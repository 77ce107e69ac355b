// Ownership of a new object: its creator owns all of it. Pure.
// Guarantees: the entries are those of trackWrite from an empty object, made in one walk without the sets in between.
import type { V1ManagedFieldsEntry } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import type { Members } from '../../api/own.js';
import type { FieldSet } from './fieldSet.js';
import { IGNORED } from './ignored.js';
import { entryOf } from './managers.js';
import { isAlwaysThere, partsOf, rootShape, type Shape } from './shape.js';
import type { Writer } from './track.js';

export function trackNew(
  kind: Pick<KindDefinition, 'model'>,
  object: KubeObject,
  { id, time }: Writer,
): V1ManagedFieldsEntry[] {
  const fields: Members = {};
  addParts(fields, rootShape(kind.model), object, IGNORED);
  return Object.keys(fields).length === 0 ? [] : [entryOf(id, time, fields)];
}

/** What is always there is owned by its parts alone; answers false when there is nothing of it to own. */
function addParts(fields: Members, shape: Shape, value: unknown, ignored: FieldSet | undefined): boolean {
  if (!isAlwaysThere(shape)) return addAll(fields, shape, value);
  const parts = partsOf(shape, value);
  if (parts === undefined) return true;
  let isOwned = false;
  for (const { element, shape: part, value: member } of parts.sort(byElement)) {
    const below = ignored?.children.get(element);
    if (below?.member === true) continue;
    const known = fields[element] as Members | undefined;
    const child = known ?? {};
    if (shape.kind === 'keyed') addItem(child, part, member);
    else if (!addParts(child, part, member, below)) continue;
    if (known === undefined) fields[element] = child;
    isOwned = true;
  }
  return isOwned;
}

/** The value and everything in it. */
function addAll(fields: Members, shape: Shape, value: unknown): true {
  const parts = partsOf(shape, value);
  if (parts === undefined || parts.length === 0) return true;
  if (!isAlwaysThere(shape)) fields['.'] ??= {};
  for (const { element, shape: part, value: member } of parts.sort(byElement)) {
    fields[element] ??= {};
    const child = fields[element] as Members;
    if (shape.kind === 'keyed') addItem(child, part, member);
    else addAll(child, part, member);
  }
  return true;
}

/** An item of a keyed list is owned as itself, beside what it holds. */
function addItem(fields: Members, shape: Shape, value: unknown): void {
  const parts = partsOf(shape, value);
  if (parts !== undefined && parts.length > 0) fields['.'] ??= {};
  addAll(fields, shape, value);
}

const byElement = (a: { readonly element: string }, b: { readonly element: string }) =>
  a.element < b.element ? -1 : 1;
