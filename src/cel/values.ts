// Values while an expression runs: int is a bigint, double a number; lists, maps and objects stand over the JSON below them.
// Guarantees: nothing here changes a value; a list or a map turns its JSON into values only where it is looked at.
import type { Cidr, Ip } from '../api/ip.js';
import type { Quantity } from '../api/quantity.js';

export type Value =
  | bigint
  | number
  | string
  | boolean
  | null
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | OptionalValue
  | ListValue
  | MapValue
  | ObjectValue
  | QuantityValue
  | UrlValue
  | IpValue
  | CidrValue
  | SemverValue
  | FormatValue;

export class Uint {
  constructor(readonly value: bigint) {}
}

/** Billionths of a second since 1970. */
export class Timestamp {
  constructor(readonly nanos: bigint) {}
}

/** Billionths of a second. */
export class Duration {
  constructor(readonly nanos: bigint) {}
}

export class TypeValue {
  constructor(readonly name: string) {}
}

export class OptionalValue {
  static readonly none = new OptionalValue(undefined);
  constructor(readonly value: Value | undefined) {}
}

export class ListValue {
  static of(items: readonly Value[]): ListValue {
    return new ListValue(items.length, (index) => items[index] as Value);
  }

  constructor(
    readonly size: number,
    readonly at: (index: number) => Value,
    /** Lists whose order means nothing compare by their items, or by these fields of them. */
    readonly identity?: 'set' | readonly string[],
  ) {}

  *[Symbol.iterator](): Iterator<Value> {
    for (let index = 0; index < this.size; index += 1) yield this.at(index);
  }
}

export interface MapValue {
  readonly isMap: true;
  readonly size: number;
  get(key: Value): Value | undefined;
  keys(): Iterable<Value>;
}

export interface ObjectValue {
  readonly isObject: true;
  /** As expressions name it. */
  get(field: string): Value | undefined;
  readonly fields: Iterable<string>;
}

export const isMap = (value: unknown): value is MapValue =>
  typeof value === 'object' && value !== null && 'isMap' in value;
export const isObject = (value: unknown): value is ObjectValue =>
  typeof value === 'object' && value !== null && 'isObject' in value;

export class QuantityValue {
  constructor(readonly quantity: Quantity) {}
}

export class UrlValue {
  constructor(
    readonly text: string,
    readonly url: {
      readonly scheme: string;
      readonly host: string;
      readonly hostname: string;
      readonly port: string;
      readonly path: string;
      readonly query: ReadonlyMap<string, readonly string[]>;
    },
  ) {}
}

export class IpValue {
  constructor(readonly ip: Ip) {}
}

export class CidrValue {
  /** The address as it was written, which may have bits beyond the prefix. */
  constructor(
    readonly cidr: Cidr,
    readonly address: Ip,
  ) {}
}

export class SemverValue {
  constructor(
    readonly numbers: readonly [bigint, bigint, bigint],
    readonly prerelease: readonly string[],
  ) {}
}

export class FormatValue {
  constructor(
    readonly name: string,
    readonly validate: (text: string) => readonly string[],
  ) {}
}

/** A map with any keys, by what equals what: 1, 1u and 1.0 are one key. */
export function mapValue(entries: Iterable<readonly [Value, Value]>): MapValue {
  const byKey = new Map<string, readonly [Value, Value]>();
  for (const entry of entries) byKey.set(keyText(entry[0]), entry);
  return {
    isMap: true,
    size: byKey.size,
    get: (key) => byKey.get(keyText(key))?.[1],
    keys: () => Array.from(byKey.values(), ([key]) => key),
  };
}

function keyText(key: Value): string {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'boolean') return `b${key}`;
  if (key instanceof Uint) return `n${key.value}`;
  return `n${String(key)}`;
}
