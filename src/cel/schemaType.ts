// The type that expressions see of data with a structural schema, and how small such data can be.
// Guarantees: what has no known form (unknown fields that are kept, items without a schema) is not visible at all.
import { type JsonSchema, subSchema } from '../api/structural/schema.js';
import { spendWork } from '../api/workLimit.js';
import { MAX_REQUEST_BYTES } from './cost.js';
import {
  BOOL,
  type CelType,
  DOUBLE,
  DYN,
  INT,
  type ListType,
  type MapType,
  type ObjectField,
  STRING,
} from './types.js';

/** Of one schema, without those below it. */
const TYPE_WORK = 10;

interface SchemaType {
  readonly type: CelType;
  /** The fewest bytes that a value has as JSON: how many fit into a request follows from it. */
  readonly minBytes: number;
}

const RESERVED = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
]);
const ESCAPES: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

/** A field's name as an identifier; undefined for one that cannot be written in an expression. */
function escapeField(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`;
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(/__|[-./]/g, (part) => ESCAPES[part] ?? part);
}

/** What was made of a schema, which never changes: a type is asked for by every rule above it. */
const knownTypes = new WeakMap<JsonSchema, { readonly type: SchemaType | undefined }>();

/** Undefined where expressions see nothing. The root of a resource has a name and a type besides what its schema says. */
export function typeOfSchema(schema: JsonSchema, isRoot: boolean): SchemaType | undefined {
  if (isRoot) return makeType(schema, isRoot);
  const known = knownTypes.get(schema);
  if (known !== undefined) return known.type;
  const type = makeType(schema, isRoot);
  knownTypes.set(schema, { type });
  return type;
}

function makeType(schema: JsonSchema, isRoot: boolean): SchemaType | undefined {
  spendWork(TYPE_WORK);
  if (schema['x-kubernetes-int-or-string'] === true)
    return { type: { ...DYN, maxSize: textSize(schema) }, minBytes: 1 };
  switch (schema.type) {
    case 'array':
      return listType(schema);
    case 'object':
      return subSchema(schema.additionalProperties) === undefined
        ? objectType(schema, isRoot)
        : mapType(schema, subSchema(schema.additionalProperties) as JsonSchema);
    case 'string':
      return textType(schema);
    case 'boolean':
      return { type: BOOL, minBytes: 4 };
    case 'number':
      return { type: DOUBLE, minBytes: 1 };
    case 'integer':
      return { type: INT, minBytes: 1 };
    default:
      return undefined;
  }
}

const typeOfPart = (schema: JsonSchema) =>
  typeOfSchema(schema, schema['x-kubernetes-embedded-resource'] === true);

function listType(schema: JsonSchema): SchemaType | undefined {
  const items = subSchema(schema.items);
  const element = items && typeOfPart(items);
  if (element === undefined) return undefined;
  const maxSize = schema.maxItems ?? Math.floor((MAX_REQUEST_BYTES - 2) / (element.minBytes + 1));
  const identity = identityOf(schema);
  const type: ListType = { kind: 'list', element: element.type, maxSize, ...(identity && { identity }) };
  return { type, minBytes: 2 };
}

function identityOf(schema: JsonSchema): ListType['identity'] {
  if (schema['x-kubernetes-list-type'] === 'set') return 'set';
  if (schema['x-kubernetes-list-type'] !== 'map') return undefined;
  return (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => escapeField(key) ?? key);
}

function mapType(schema: JsonSchema, values: JsonSchema): SchemaType | undefined {
  const value = typeOfPart(values);
  if (value === undefined) return undefined;
  const maxSize = schema.maxProperties ?? Math.floor((MAX_REQUEST_BYTES - 2) / (value.minBytes + 6));
  const type: MapType = { kind: 'map', key: STRING, value: value.type, maxSize };
  return { type, minBytes: 2 };
}

const TEXT: JsonSchema = { type: 'string' };
const RESOURCE: readonly (readonly [string, JsonSchema])[] = [
  ['kind', TEXT],
  ['apiVersion', TEXT],
  ['metadata', { type: 'object', properties: { name: TEXT, generateName: TEXT } }],
];

function objectType(schema: JsonSchema, isRoot: boolean): SchemaType {
  const properties = new Map([...Object.entries(schema.properties ?? {}), ...(isRoot ? RESOURCE : [])]);
  const required = new Set(schema.required ?? []);
  const fields = new Map<string, ObjectField>();
  let minBytes = 2;
  for (const [json, property] of properties) {
    const own = typeOfPart(property);
    if (own === undefined) continue;
    const name = escapeField(json);
    if (name !== undefined) fields.set(name, { type: own.type, json });
    if (required.has(json) && property.default === undefined) minBytes += json.length + own.minBytes + 4;
  }
  return { type: { kind: 'object', fields }, minBytes };
}

/** Characters are counted as the bytes that they may take. */
const textSize = ({ maxLength }: JsonSchema) =>
  maxLength === undefined ? MAX_REQUEST_BYTES - 2 : maxLength * 4;

function textType(schema: JsonSchema): SchemaType {
  switch (schema.format) {
    case 'byte':
      return { type: { kind: 'bytes', maxSize: schema.maxLength ?? MAX_REQUEST_BYTES - 2 }, minBytes: 2 };
    case 'duration':
      return { type: { kind: 'duration', maxSize: 32 }, minBytes: 3 };
    case 'date':
      return { type: { kind: 'timestamp', maxSize: 12 }, minBytes: 12 };
    case 'date-time':
      return { type: { kind: 'timestamp', maxSize: 32 }, minBytes: 21 };
  }
  if (schema.maxLength === undefined && (schema.enum?.length ?? 0) > 0) {
    const lengths = (schema.enum ?? []).map((word) => (typeof word === 'string' ? word.length : 0));
    return { type: { kind: 'string', maxSize: Math.max(...lengths) }, minBytes: 2 };
  }
  return { type: { kind: 'string', maxSize: textSize(schema) }, minBytes: 2 };
}
