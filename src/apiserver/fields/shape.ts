// What a value of the API is to server-side apply: one leaf, or parts with paths of their own. Pure.
// Guarantees: every part of a value has exactly one path element; values that cannot be told apart are one leaf.
import { schemas } from '../../api/gen/schemas.js';
import { getOwn, isMembers } from '../../api/own.js';
import { isAtomicMap, isAtomicStruct, isPlainStruct, KEY_DEFAULTS, listType } from './listTypes.js';

export type Shape =
  | { readonly kind: 'leaf' }
  | { readonly kind: 'struct'; readonly model: string; readonly plain: boolean }
  | { readonly kind: 'map'; readonly item: Shape }
  | {
      readonly kind: 'keyed';
      readonly keys: readonly string[];
      readonly item: Shape;
      readonly plain: boolean;
    }
  | { readonly kind: 'set' };

export const LEAF: Shape = { kind: 'leaf' };

export function rootShape(model: string): Shape {
  return { kind: 'struct', model, plain: true };
}

const known = new Map<string, Shape>();

/** Of a member of a struct. Members that the schemas do not have are leaves. */
export function fieldShape(model: string, field: string): Shape {
  const id = `${model}.${field}`;
  let shape = known.get(id);
  if (shape === undefined) {
    const code = getOwn(getOwn(schemas, model), field);
    shape = code === undefined ? LEAF : shapeOf(model, field, code.replace(/^!/, ''));
    if (code !== undefined) known.set(id, shape); // only names of the schemas, so the table stays bounded
  }
  return shape;
}

function shapeOf(model: string, field: string, code: string): Shape {
  if (code.startsWith('[]')) {
    const list = listType(model, field);
    if (list === undefined) return LEAF;
    if (list.keys.length === 0) return { kind: 'set' };
    // Items are told apart by their keys; what a reference holds besides is still its own.
    const item = structShape(code.slice(2), '');
    return { kind: 'keyed', keys: list.keys, item, plain: field === 'containers' };
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

/** The parts of a value, or undefined when it is one leaf. */
export function partsOf(shape: Shape, value: unknown): readonly Part[] | undefined {
  switch (shape.kind) {
    case 'leaf':
      return undefined;
    case 'struct':
    case 'map':
      if (!isMembers(value)) return undefined;
      return Object.entries(value)
        .filter(([, member]) => member !== undefined)
        .map(([name, member]) => ({
          element: `f:${name}`,
          shape: shape.kind === 'map' ? shape.item : fieldShape(shape.model, name),
          value: member,
        }));
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

/** Undefined when the item lacks one of its keys. */
export function keyElement(keys: readonly string[], item: unknown): string | undefined {
  if (!isMembers(item)) return undefined;
  const key: Record<string, unknown> = {};
  for (const name of [...keys].sort()) {
    const value = getOwn(item, name) ?? KEY_DEFAULTS[name];
    if (value === undefined) return undefined;
    key[name] = value;
  }
  return `k:${JSON.stringify(key)}`;
}
