// What equals what, what comes before what, and what a value's type and size are.
// Guarantees: numbers of different types compare by what they are worth; lists of schemas whose order means nothing compare
// so; never more work than the smaller value has parts, but for such lists, whose cost is counted by their product.
import { CelError } from './error.js';
import type { ScalarKind } from './types.js';
import { typeName } from './types.js';
import {
  CidrValue,
  Duration,
  FormatValue,
  IpValue,
  isMap,
  isObject,
  ListValue,
  type MapValue,
  type ObjectValue,
  OptionalValue,
  QuantityValue,
  SemverValue,
  Timestamp,
  TypeValue,
  Uint,
  UrlValue,
  type Value,
} from './values.js';

type ValueKind = ScalarKind | 'list' | 'map' | 'object' | 'optional';

const CLASSES: readonly (readonly [abstract new (...args: never[]) => object, ValueKind])[] = [
  [ListValue, 'list'],
  [Uint, 'uint'],
  [Uint8Array, 'bytes'],
  [Timestamp, 'timestamp'],
  [Duration, 'duration'],
  [TypeValue, 'type'],
  [OptionalValue, 'optional'],
  [QuantityValue, 'Quantity'],
  [UrlValue, 'URL'],
  [IpValue, 'IP'],
  [CidrValue, 'CIDR'],
  [SemverValue, 'Semver'],
  [FormatValue, 'Format'],
];

export function kindOf(value: Value): ValueKind {
  switch (typeof value) {
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
  }
  if (value === null) return 'null';
  if (isMap(value)) return 'map';
  if (isObject(value)) return 'object';
  return CLASSES.find(([type]) => value instanceof type)?.[1] ?? 'dyn';
}

export function nameOfKind(kind: ValueKind): string {
  if (kind === 'optional') return 'optional_type';
  return kind === 'list' || kind === 'map' || kind === 'object' ? kind : typeName(kind);
}

/** Characters, bytes, items or entries; 1 for everything else. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (value instanceof ListValue || isMap(value)) return value.size;
  return 1;
}

const numberOf = (value: Value): bigint | number | undefined =>
  typeof value === 'bigint' || typeof value === 'number'
    ? value
    : value instanceof Uint
      ? value.value
      : undefined;

export function equals(a: Value, b: Value): boolean {
  if (a === b) return true;
  const [x, y] = [numberOf(a), numberOf(b)];
  // biome-ignore lint/suspicious/noDoubleEquals: JavaScript compares bigint and number by what they are worth
  if (x !== undefined || y !== undefined) return x !== undefined && y !== undefined && x == y;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof ListValue) return b instanceof ListValue && sameLists(a, b);
  if (isMap(a)) return isMap(b) && sameMaps(a, b);
  if (isObject(a)) return isObject(b) && sameObjects(a, b);
  if (a instanceof OptionalValue)
    return (
      b instanceof OptionalValue &&
      (a.value === undefined || b.value === undefined ? a.value === b.value : equals(a.value, b.value))
    );
  if (a instanceof Uint8Array)
    return b instanceof Uint8Array && a.length === b.length && a.every((byte, at) => byte === b[at]);
  return kindOf(a) === kindOf(b) && identityOf(a) === identityOf(b);
}

/** Of values that have no parts to compare. */
function identityOf(value: Value): unknown {
  if (value instanceof Timestamp || value instanceof Duration) return value.nanos;
  if (value instanceof TypeValue || value instanceof FormatValue) return value.name;
  if (value instanceof QuantityValue) return value.quantity.nanos;
  if (value instanceof UrlValue) return value.text;
  if (value instanceof IpValue) return `${value.ip.family} ${value.ip.value}`;
  if (value instanceof CidrValue)
    return `${value.address.family} ${value.address.value}/${value.cidr.prefix}`;
  if (value instanceof SemverValue) return `${value.numbers.join('.')}-${value.prerelease.join('.')}`;
  return value;
}

function sameLists(a: ListValue, b: ListValue): boolean {
  if (a.size !== b.size) return false;
  const { identity } = a;
  if (identity === undefined) {
    for (let index = 0; index < a.size; index += 1) if (!equals(a.at(index), b.at(index))) return false;
    return true;
  }
  return everyIn(a, b) && everyIn(b, a);
}

const everyIn = (a: ListValue, b: ListValue): boolean => {
  for (const item of a) if (!includes(b, item)) return false;
  return true;
};

export function includes(list: ListValue, wanted: Value): boolean {
  for (const item of list) if (equals(item, wanted)) return true;
  return false;
}

function sameMaps(a: MapValue, b: MapValue): boolean {
  if (a.size !== b.size) return false;
  for (const key of a.keys()) {
    const [own, other] = [a.get(key), b.get(key)];
    if (own === undefined || other === undefined || !equals(own, other)) return false;
  }
  return true;
}

function sameObjects(a: ObjectValue, b: ObjectValue): boolean {
  for (const field of a.fields) {
    const [own, other] = [a.get(field), b.get(field)];
    if (own === undefined || other === undefined ? own !== other : !equals(own, other)) return false;
  }
  return true;
}

/** Below, at or above zero. Throws for values that have no order. */
export function compare(a: Value, b: Value): number {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b);
  const [x, y] = [orderOf(a), orderOf(b)];
  if (typeof x === 'string' && typeof y === 'string') return compareText(x, y);
  if (x === undefined || y === undefined || typeof x === 'string' || typeof y === 'string')
    throw new CelError('NO_OVERLOAD', 'no such overload');
  return x < y ? -1 : x > y ? 1 : 0;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at < 0 || at >= b.length ? a.length - b.length : (a[at] as number) - (b[at] as number);
}

/** By code points, as bytes of UTF-8 sort, and not by UTF-16 units. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (x === y) continue;
    const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff;
    if (isSurrogate(x) !== isSurrogate(y)) return isSurrogate(x) ? 1 : -1;
    return x - y;
  }
  return a.length - b.length;
}

function orderOf(value: Value): bigint | number | string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof Timestamp || value instanceof Duration) return value.nanos;
  return numberOf(value);
}
