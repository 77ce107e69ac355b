// Ownership of a new object: its creator owns all of it. Pure.
// Guarantees: the entries are those of trackWrite from an empty object, made in one walk without the sets in between;
// objects with the same fields, such as the pods of one template, share them.
import type { V1ManagedFieldsEntry } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import type { Members } from '../../api/ownKeys.js';
import { deepFreeze } from '../../client/freeze.js';
import type { FieldSet } from './fieldSet.js';
import { IGNORED } from './ignored.js';
import { entryOf } from './managers.js';
import {
  isAlwaysThere,
  LONGEST_OUTLINE,
  leavesOf,
  outlineOf,
  partsOf,
  rootShape,
  type Shape,
} from './shape.js';
import type { Writer } from './track.js';

export function trackNew(
  kind: Pick<KindDefinition, 'model' | 'custom'>,
  object: KubeObject,
  { id, time }: Writer,
): V1ManagedFieldsEntry[] {
  const fields = fieldsOfNew(kind, object);
  return Object.keys(fields).length === 0 ? [] : [entryOf(id, time, fields)];
}

/** By outline. Bounded in number and size: what clients send makes the keys. */
const known = new Map<string, Members>();
/** The JSON of those that are known. */
const texts = new WeakMap<object, string>();
const MOST_KNOWN = 256;
/** What is owned of a leaf: nothing below it. */
const LEAF: Members = Object.freeze({});

/** Frozen: it is shared. */
function fieldsOfNew(kind: Pick<KindDefinition, 'model' | 'custom'>, object: KubeObject): Members {
  const shape = rootShape(kind);
  const outline = `${kind.model}${outlineOf(shape, object)}`;
  const isShort = outline.length <= LONGEST_OUTLINE;
  const held = isShort ? known.get(outline) : undefined;
  if (held !== undefined) return held;
  const fields: Members = {};
  addParts(fields, shape, object, IGNORED);
  if (isShort) {
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(outline, deepFreeze(fields));
    texts.set(fields, JSON.stringify(fields));
  }
  return fields;
}

/** The entries as JSON; the fields that many objects share are not written anew for each. */
export function managedFieldsText(entries: readonly V1ManagedFieldsEntry[]): string {
  const all = entries.map(({ fieldsV1, ...entry }) => {
    const text = JSON.stringify(entry);
    if (typeof fieldsV1 !== 'object' || fieldsV1 === null) return text;
    const fields = texts.get(fieldsV1) ?? JSON.stringify(fieldsV1);
    return `${text.slice(0, -1)}${text === '{}' ? '' : ','}"fieldsV1":${fields}}`;
  });
  return `[${all.join(',')}]`;
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
  const leaves = leavesOf(shape, value);
  if (leaves !== undefined) return addLeaves(fields, leaves);
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

function addLeaves(fields: Members, leaves: readonly string[]): true {
  if (leaves.length > 0) fields['.'] ??= {};
  for (const element of leaves) fields[element] ??= LEAF;
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
