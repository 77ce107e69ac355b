// Checks a JSON value against the schema of a model and copies it: what comes in from outside becomes a typed draft. Pure.
// Guarantees: the draft holds known fields of the right types only, and shares nothing with the input; empty values that
// Kubernetes' own types leave out are not in it, unless they are asked for; times that those types always write are null.

import { isQuantity } from './formats.js';
import { schemas } from './gen/schemas.js';
import type { Draft, KindDefinition } from './kind.js';
import type { KubeObject } from './object.js';
import { getOwn, isMembers, type Members, setOwn } from './ownKeys.js';
import { apiVersionOf, type ResourceType } from './resources.js';
import { DecodeError, Place, type Scalar, scalarFor, TOO_DEEP, typeMismatch } from './scalars.js';
import { type ApiError, statusError } from './status.js';
import { keepsEmpty, nullTimes } from './zeroValues.js';

export interface Decoded<T> {
  readonly object: Draft<T>;
  /** Paths of members that the schema does not know and the draft does not have: `spec.foo`. */
  readonly unknownFields: readonly string[];
}

export interface DecodeOptions {
  /** Also what is left out when the object is stored: whoever applies a field owns it, be it empty. */
  readonly keepsEmpty?: boolean;
}

/** Beyond these nobody reads on, and a hostile object could name millions. */
const MAX_UNKNOWN = 100;

/** What a body says of its type is what was asked for; it may also say nothing. Throws BadRequest. */
export function requireType(type: ResourceType, value: Members): void {
  const expected = apiVersionOf(type);
  const { apiVersion = expected, kind = type.kind } = value;
  if (apiVersion !== expected && apiVersion !== '' && apiVersion !== null)
    throw statusError(
      'BadRequest',
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`,
    );
  if (kind !== type.kind && kind !== '' && kind !== null)
    throw statusError(
      'BadRequest',
      `${String(kind)} in version "${type.version}" cannot be handled as a ${type.kind}`,
    );
}

/** A whole object, as a request's body holds it. apiVersion and kind are filled in when absent. Throws BadRequest. */
export function decodeObject<T extends KubeObject>(
  { type, model }: Pick<KindDefinition<T>, 'type' | 'model'>,
  value: unknown,
  options?: DecodeOptions,
): Decoded<T> {
  const expected = apiVersionOf(type);
  if (isMembers(value)) requireType(type, value);
  const { object, unknownFields } = refusingFor(type, () => decodeModel<T>(model, value, options));
  const { apiVersion: _, kind: __, metadata, ...rest } = object;
  const complete = { apiVersion: expected, kind: type.kind, metadata: metadata ?? {}, ...rest };
  return { object: complete as Draft<T>, unknownFields };
}

/** Any model of the schemas, such as V1DeleteOptions or V1Binding. Throws DecodeError. */
export function decodeModel<T>(
  model: string,
  value: unknown,
  { keepsEmpty = false }: DecodeOptions = {},
): Decoded<T> {
  const reading = { unknown: [], keepsEmpty };
  const object = readModel(modelOf(model), value, ROOT, reading);
  return { object: object as Draft<T>, unknownFields: reading.unknown };
}

/** fieldValidation=Strict: one refusal that names every unknown field, and says what else was found. */
export function strictDecodingError(
  type: Pick<KindDefinition['type'], 'kind' | 'version'>,
  unknownFields: readonly string[],
  others: readonly string[] = [],
): ApiError {
  const list = [...unknownFields.map(unknownFieldWarning), ...others].join(', ');
  return statusError('BadRequest', `${handledAs(type)}: strict decoding error: ${list}`);
}

/** fieldValidation=Warn: the text of one Warning header. */
export const unknownFieldWarning = (path: string): string => `unknown field "${path}"`;

export const duplicateFieldWarning = (path: string): string => `duplicate field "${path}"`;

const handledAs = ({ kind, version }: Pick<KindDefinition['type'], 'kind' | 'version'>) =>
  `${kind} in version "${version}" cannot be handled as a ${kind}`;

function refusingFor<R>(type: Pick<KindDefinition['type'], 'kind' | 'version'>, decode: () => R): R {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw statusError('BadRequest', `${handledAs(type)}: ${error.message}`, undefined, { cause: error });
  }
}

const ROOT = new Place(undefined, '', '', false);
/** Only models that contain themselves can nest so deep. */
const MAX_DEPTH = 1000;

/** Reads one JSON value at a place. */
type Reader = (value: unknown, place: Place, reading: Reading) => unknown;

/** What is the same all through one object. */
interface Reading {
  readonly unknown: string[];
  readonly keepsEmpty: boolean;
}

interface Field {
  readonly read: Reader;
  /** What typeof says of values that are taken as they are; a Place, needed only for refusals, is not made for them. */
  readonly plain?: Scalar['plain'];
  /** What Go makes of null: nothing for members, the zero value inside lists and maps. */
  readonly zero: unknown;
  /** The member is left out when it is empty. */
  readonly dropsEmpty?: boolean;
}

interface Model {
  readonly goName: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Members that are null where they are not given. */
  readonly nulls: readonly string[];
}

const compiled = new Map<string, Model>();

function modelOf(name: string): Model {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const schema = getOwn(schemas, name);
  if (schema === undefined) throw new Error(`the schemas have no model ${name}`);
  const fields = Object.entries(schema).map(([field, code]): [string, Field] => [
    field,
    { ...fieldFor(name, field, code.replace(/^!/, '')), dropsEmpty: dropsEmpty(name, field, code) },
  ]);
  const model = { goName: goName(name), fields: new Map(fields), nulls: nullTimes(name) };
  compiled.set(name, model);
  return model;
}

/** A struct, an int-or-string or a quantity has no empty value that Go would leave out. */
const dropsEmpty = (model: string, field: string, code: string): boolean =>
  /^([sibny]$|\[\]|\{\})/.test(code) && !isQuantity(model, field) && !keepsEmpty(model, field, code);

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === '' || value === false || value === 0;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}

function fieldFor(model: string, name: string, code: string): Field {
  if (code.startsWith('[]'))
    return { read: listReader(fieldFor(model, name, code.slice(2)), goType(code)), zero: [] };
  if (code.startsWith('{}'))
    return { read: mapReader(fieldFor(model, name, code.slice(2)), goType(code)), zero: {} };
  const scalar: Scalar | undefined = scalarFor(model, name, code);
  if (scalar !== undefined) return scalar;
  return { read: (value, place, reading) => readModel(modelOf(code), value, place, reading), zero: {} };
}

function readModel(model: Model, value: unknown, place: Place, reading: Reading): Members {
  if (!isMembers(value)) throw typeMismatch(value, place, `v1.${model.goName}`);
  if (place.depth > MAX_DEPTH) throw new DecodeError(TOO_DEEP);
  const result: Members = {};
  for (const name of Object.keys(value)) {
    const member = value[name];
    const field = model.fields.get(name);
    if (field === undefined) {
      if (reading.unknown.length < MAX_UNKNOWN) reading.unknown.push(place.element(`.${name}`).exactPath);
    } else if (typeof member === field.plain) {
      if (member || !field.dropsEmpty || reading.keepsEmpty) result[name] = member;
    } else if (member !== null && member !== undefined) {
      const read = field.read(member, place.field(model.goName, `.${name}`), reading);
      if (!field.dropsEmpty || reading.keepsEmpty || !isEmpty(read)) result[name] = read;
    }
  }
  for (const name of model.nulls) result[name] ??= null;
  return result;
}

function listReader({ read, zero, plain }: Field, type: string): Reader {
  return (value, place, reading) => {
    if (!Array.isArray(value)) throw typeMismatch(value, place, type);
    return value.map((item: unknown, index) => {
      if (typeof item === plain) return item;
      return item === null ? freshZero(zero) : read(item, place.element(`[${index}]`), reading);
    });
  };
}

function mapReader({ read, zero, plain }: Field, type: string): Reader {
  const readMember = (key: string, member: unknown, place: Place, reading: Reading) => {
    if (typeof member === plain) return member;
    return member === null ? freshZero(zero) : read(member, place.element(`.${key}`), reading);
  };
  return (value, place, reading) => {
    if (!isMembers(value)) throw typeMismatch(value, place, type);
    const result: Members = {};
    for (const key of Object.keys(value)) setOwn(result, key, readMember(key, value[key], place, reading));
    return result;
  };
}

const freshZero = (zero: unknown) => (Array.isArray(zero) ? [] : isMembers(zero) ? {} : zero);

const GO_SCALARS: Readonly<Record<string, string>> = { s: 'string', i: 'int32', b: 'bool', y: '[]uint8' };

function goType(code: string): string {
  if (code.startsWith('[]')) return `[]${goType(code.slice(2))}`;
  if (code.startsWith('{}')) return `map[string]${goType(code.slice(2))}`;
  return GO_SCALARS[code] ?? `v1.${goName(code)}`;
}

/** V1PodSpec is PodSpec to those who read the refusal. */
const goName = (model: string) =>
  model.replace(/^(Core|Rbac|Discovery|Events|Storage|Authentication)?V\d+((alpha|beta)\d+)?/, '');
