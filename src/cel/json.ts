// JSON as values of the types that a schema gives it.
// Guarantees: constant work per value that is looked at; what does not fit its type is told as an error of the evaluation.
import { evaluationError } from './error.js';
import { parseDuration, parseTimestamp } from './time.js';
import { type CelType, DYN, type ListType, type MapType, type ObjectType } from './types.js';
import { ListValue, type MapValue, type ObjectValue, type Value } from './values.js';

type Json = unknown;

/** The value of a piece of JSON. `undefined` is no JSON. */
export function fromJson(json: Json, type: CelType): Value {
  if (json === null) return null;
  switch (type.kind) {
    case 'int':
      return integer(json);
    case 'double':
      return typeof json === 'bigint' ? Number(json) : expectJson(json, 'number', type);
    case 'string':
      return expectJson(json, 'string', type);
    case 'bool':
      return expectJson(json, 'boolean', type);
    case 'bytes':
      return bytesOf(expectJson(json, 'string', type));
    case 'timestamp':
      return parseTimestamp(withTime(expectJson(json, 'string', type)));
    case 'duration':
      return parseDuration(expectJson(json, 'string', type));
    case 'list':
      return listFrom(json, type);
    case 'map':
      return mapFrom(json, type);
    case 'object':
      return objectFrom(json, type);
    default:
      return dynamic(json);
  }
}

function bytesOf(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    throw evaluationError('invalid data, expected base64');
  }
}

const withTime = (text: string) => (text.length === 10 ? `${text}T00:00:00Z` : text);

function integer(json: Json): bigint {
  if (typeof json === 'bigint') return json;
  if (typeof json === 'number' && Number.isInteger(json)) return BigInt(json);
  throw mismatch(json, 'int');
}

function expectJson<K extends 'string' | 'number' | 'boolean'>(json: Json, kind: K, type: CelType) {
  if (typeof json !== kind) throw mismatch(json, type.kind);
  return json as K extends 'string' ? string : K extends 'number' ? number : boolean;
}

const mismatch = (json: Json, wanted: string) =>
  evaluationError(`invalid data, expected ${wanted}, got ${Array.isArray(json) ? 'array' : typeof json}`);

function listFrom(json: Json, { element, identity }: ListType): ListValue {
  if (!Array.isArray(json)) throw mismatch(json, 'list');
  return new ListValue(json.length, (index) => fromJson(json[index], element), identity);
}

function mapFrom(json: Json, { value }: Pick<MapType, 'value'>): MapValue {
  const entries = record(json);
  const names = Object.keys(entries);
  return {
    isMap: true,
    size: names.length,
    get: (key) =>
      typeof key === 'string' && Object.hasOwn(entries, key) ? fromJson(entries[key], value) : undefined,
    keys: () => names,
  };
}

function objectFrom(json: Json, { fields }: ObjectType): ObjectValue {
  const members = record(json);
  return {
    isObject: true,
    fields: fields.keys(),
    get: (name) => {
      const field = fields.get(name);
      if (field === undefined || !Object.hasOwn(members, field.json)) return undefined;
      return fromJson(members[field.json], field.type);
    },
  };
}

function record(json: Json): Readonly<Record<string, Json>> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw mismatch(json, 'map');
  return json as Record<string, Json>;
}

function dynamic(json: Json): Value {
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : json;
  if (typeof json !== 'object') return json as Value;
  if (Array.isArray(json)) return new ListValue(json.length, (index) => fromJson(json[index], DYN));
  return mapFrom(json, { value: DYN });
}
