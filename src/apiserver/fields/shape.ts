// What a value of the API is to server-side apply: one leaf, or parts with paths of their own. Pure.
// Guarantees: every part of a value has exactly one path element; values that cannot be told apart are one leaf.
import { schemas } from '../../api/gen/schemas.js';
import type { KindDefinition } from '../../api/kind.js';
import { listType } from '../../api/mergedLists.js';
import { getOwn, isMembers, type Members } from '../../api/ownKeys.js';
import type { Structural } from '../../api/structural/schema.js';
import { isAtomicMap, isAtomicStruct, isPlainStruct, KEY_DEFAULTS } from './listTypes.js';

type StructShape = { readonly kind: 'struct'; readonly model: string; readonly plain: boolean };
type MapShape = { readonly kind: 'map'; readonly item: Shape };
/** Members of a schema that is no model: each with its shape, the others as `rest`. */
type FieldsShape = {
  readonly kind: 'fields';
  readonly fields: ReadonlyMap<string, Shape>;
  readonly rest: Shape;
  readonly plain: boolean;
};

export type Shape =
  | { readonly kind: 'leaf' }
  | StructShape
  | MapShape
  | FieldsShape
  | {
      readonly kind: 'keyed';
      readonly keys: readonly string[];
      readonly item: Shape;
      readonly plain: boolean;
    }
  | { readonly kind: 'set' };

const LEAF: Shape = { kind: 'leaf' };

export function rootShape({ model, custom }: Pick<KindDefinition, 'model' | 'custom'>): Shape {
  return custom === undefined ? { kind: 'struct', model, plain: true } : customShape(custom.schema);
}

const ROOT_FIELDS: readonly (readonly [string, Shape])[] = [
  ['apiVersion', LEAF],
  ['kind', LEAF],
  ['metadata', { kind: 'struct', model: 'V1ObjectMeta', plain: true }],
];
const customShapes = new WeakMap<Structural, Shape>();

function customShape(schema: Structural): Shape {
  const held = customShapes.get(schema);
  if (held !== undefined) return held;
  const fields = [...schema.properties].map(([name, part]) => [name, schemaShape(part)] as const);
  const rest = schema.keepsUnknown ? DEDUCED : LEAF;
  const shape: Shape = { kind: 'fields', fields: new Map([...fields, ...ROOT_FIELDS]), rest, plain: true };
  customShapes.set(schema, shape);
  return shape;
}

/** Of what no schema speaks: objects member by member, lists as wholes. */
const DEDUCED: Shape = deduced();

function deduced(): Shape {
  const shape: { kind: 'map'; item: Shape } = { kind: 'map', item: LEAF };
  shape.item = shape;
  return shape;
}

function schemaShape(schema: Structural): Shape {
  const { type, properties, additional, items, listType, listKeys, keepsUnknown } = schema;
  if (type === 'array') {
    if (listType === 'set') return { kind: 'set' };
    if (listType !== 'map' || items === undefined) return LEAF;
    return { kind: 'keyed', keys: [...listKeys].sort(), item: schemaShape(items), plain: false };
  }
  if (schema.isAtomicMap) return LEAF;
  if (additional !== undefined && additional !== null) return { kind: 'map', item: schemaShape(additional) };
  if (properties.size > 0) {
    const fields = new Map([...properties].map(([name, part]) => [name, schemaShape(part)]));
    return { kind: 'fields', fields, rest: keepsUnknown ? DEDUCED : LEAF, plain: false };
  }
  return keepsUnknown || additional === null ? DEDUCED : LEAF;
}

/** Kept by value in Go: an object that has none of it has it empty. */
export const isAlwaysThere = (shape: Shape) =>
  (shape.kind === 'struct' || shape.kind === 'keyed' || shape.kind === 'fields') && shape.plain;

interface Field {
  readonly element: string;
  readonly shape: Shape;
}

const known = new Map<string, Map<string, Field>>();

/** The path element and the shape of a member of a struct or a map. Members that the schemas do not have are leaves. */
export function memberOf(shape: StructShape | MapShape | FieldsShape, name: string): Field {
  if (shape.kind === 'map') return { element: `f:${name}`, shape: shape.item };
  if (shape.kind === 'fields') return { element: `f:${name}`, shape: shape.fields.get(name) ?? shape.rest };
  return fieldOf(fieldsOf(shape.model), shape.model, name);
}

export const hasMembers = (shape: Shape): shape is StructShape | MapShape | FieldsShape =>
  shape.kind === 'struct' || shape.kind === 'map' || shape.kind === 'fields';

function fieldsOf(model: string): Map<string, Field> {
  let fields = known.get(model);
  if (fields === undefined) {
    fields = new Map();
    known.set(model, fields);
  }
  return fields;
}

function fieldOf(fields: Map<string, Field>, model: string, name: string): Field {
  const held = fields.get(name);
  if (held !== undefined) return held;
  const code = getOwn(getOwn(schemas, model), name);
  const shape = code === undefined ? LEAF : shapeOf(model, name, code.replace(/^!/, ''));
  const field = { element: `f:${name}`, shape };
  if (code !== undefined) fields.set(name, field); // only names of the schemas, so the table stays bounded
  return field;
}

function shapeOf(model: string, field: string, code: string): Shape {
  if (code.startsWith('[]')) {
    const list = listType(model, field);
    if (list === undefined) return LEAF;
    if (list.keys.length === 0) return { kind: 'set' };
    // Items are told apart by their keys; what a reference holds besides is still its own.
    const item = structShape(code.slice(2), '');
    return { kind: 'keyed', keys: [...list.keys].sort(), item, plain: field === 'containers' };
  }
  if (code.startsWith('{}')) {
    if (isAtomicMap(model, field)) return LEAF;
    return { kind: 'map', item: shapeOf(model, '', code.slice(2)) };
  }
  return structShape(code, field);
}

function structShape(model: string, field: string): Shape {
  if (getOwn(schemas, model) === undefined || isAtomicStruct(model, field)) return LEAF;
  return { kind: 'struct', model, plain: isPlainStruct(field) };
}

export interface Part {
  readonly element: string;
  readonly shape: Shape;
  readonly value: unknown;
}

/** The parts of a value, or undefined when it is one leaf. The list is the caller's. */
export function partsOf(shape: Shape, value: unknown): Part[] | undefined {
  switch (shape.kind) {
    case 'leaf':
      return undefined;
    case 'struct':
      return isMembers(value) ? structParts(shape.model, value) : undefined;
    case 'map':
    case 'fields':
      return isMembers(value) ? mapParts(shape, value) : undefined;
    case 'set':
      if (!Array.isArray(value)) return undefined;
      return value.map((item: unknown) => ({
        element: `v:${JSON.stringify(item)}`,
        shape: LEAF,
        value: item,
      }));
    case 'keyed':
      if (!Array.isArray(value)) return undefined;
      return value.map((item: unknown, index) => ({
        element: keyElement(shape.keys, item) ?? `i:${index}`,
        shape: shape.item,
        value: item,
      }));
  }
}

function structParts(model: string, value: Members): Part[] {
  const fields = fieldsOf(model);
  const parts: Part[] = [];
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (member === undefined) continue;
    const { element, shape } = fieldOf(fields, model, name);
    parts.push({ element, shape, value: member });
  }
  return parts;
}

function mapParts(shape: MapShape | FieldsShape, value: Members): Part[] {
  const parts: Part[] = [];
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (member === undefined) continue;
    const { element, shape: part } = memberOf(shape, name);
    parts.push({ element, shape: part, value: member });
  }
  return parts;
}

/** The elements of a map's members in order, when all of them are leaves: there may be tens of thousands. */
export function leavesOf(shape: Shape, value: unknown): readonly string[] | undefined {
  if (shape.kind !== 'map' || shape.item.kind !== 'leaf' || !isMembers(value)) return undefined;
  const elements: string[] = [];
  for (const name of Object.keys(value)) if (value[name] !== undefined) elements.push(`f:${name}`);
  return elements.sort();
}

/** `keys` are in order. Undefined when the item lacks one of them. */
export function keyElement(keys: readonly string[], item: unknown): string | undefined {
  if (!isMembers(item)) return undefined;
  let text = '';
  for (const name of keys) {
    const value = getOwn(item, name) ?? KEY_DEFAULTS[name];
    if (value === undefined) return undefined;
    text += `${text === '' ? '' : ','}"${name}":${JSON.stringify(value)}`;
  }
  return `k:{${text}}`;
}

/** Of an outline: what is longer is cut, and no longer tells one value from another. */
export const LONGEST_OUTLINE = 8192;

/**
 * All that the parts of a value depend on, as text: which members it has and which items of lists, not what they hold.
 * It says what going through the parts would say, without making them.
 */
export function outlineOf(shape: Shape, value: unknown): string {
  switch (shape.kind) {
    case 'leaf':
      return '';
    case 'struct':
      return isMembers(value) ? structOutline(shape.model, value) : '';
    case 'map':
    case 'fields':
      return isMembers(value) ? mapOutline(shape, value) : '';
    case 'set':
      return Array.isArray(value) ? JSON.stringify(value) : '';
    case 'keyed':
      return Array.isArray(value) ? itemsOutline(shape.keys, shape.item, value) : '';
  }
}

function structOutline(model: string, value: Members): string {
  const fields = fieldsOf(model);
  let text = '{';
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (member === undefined) continue;
    if (text.length > LONGEST_OUTLINE) break;
    const { element, shape } = fieldOf(fields, model, name);
    text += shape.kind === 'leaf' ? element : element + outlineOf(shape, member);
  }
  return `${text}}`;
}

/** Names of members come from outside, so their lengths are told: two names never read as one. */
function mapOutline(shape: MapShape | FieldsShape, value: Members): string {
  let text = '{';
  for (const name of Object.keys(value)) {
    if (value[name] === undefined) continue;
    if (text.length > LONGEST_OUTLINE) break;
    text += `${name.length}:${name}${outlineOf(memberOf(shape, name).shape, value[name])}`;
  }
  return `${text}}`;
}

function itemsOutline(keys: readonly string[], item: Shape, value: readonly unknown[]): string {
  let text = '[';
  for (const one of value) {
    if (text.length > LONGEST_OUTLINE) break;
    text += `${keyElement(keys, one) ?? 'i'}${outlineOf(item, one)}`;
  }
  return `${text}]`;
}
