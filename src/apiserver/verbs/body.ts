// Reads a request's body: JSON or YAML text into the draft of an object.
// Guarantees: a body beyond the bounds is refused before it is parsed; what passes has the types of its schema; unknown
// fields are refused or warned of, as the client asked.
import { isUtf8 } from 'node:buffer';
import { jsonObstacle, maxValuesOf } from '../../api/bodyBounds.js';
import {
  type Decoded,
  type DecodeOptions,
  decodeModel,
  decodeObject,
  duplicateFieldWarning,
  strictDecodingError,
  unknownFieldWarning,
} from '../../api/decode.js';
import { duplicateFields } from '../../api/duplicateFields.js';
import { inexactNumber } from '../../api/exactNumbers.js';
import type { KindDefinition } from '../../api/kind.js';
import { isMembers, type Members, setOwn } from '../../api/ownKeys.js';
import { ApiError, statusError } from '../../api/status.js';
import { inSteps } from '../../api/steps.js';
import { PROTOBUF_TYPE } from '../output/negotiate.js';
import { fromYaml, YAML_COST, type YamlData } from '../output/yaml.js';
import { decodeProtobuf } from '../protobuf/decode.js';
import { ProtobufError } from '../protobuf/wire.js';
import type { DraftObject } from '../registry/metadata.js';
import type { Call } from '../serverContext.js';
import { jsonFault } from './jsonFault.js';
import { fieldValidation } from './options.js';
import { formOf, toStored } from './served.js';

const JSON_TYPES = new Set(['', 'application/json', 'text/json']);
const YAML_TYPES = new Set(['application/yaml', 'application/x-yaml', 'text/yaml']);

export function mediaTypeOf(header: string | undefined): string {
  return (header ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

export interface ReadBody {
  /** Undefined when there is none. */
  readonly data: unknown;
  /** The text, when it was JSON: the data does not tell what was written twice. */
  readonly json?: string;
  /** When it was YAML: what is said of the keys that it names twice. */
  readonly duplicates?: readonly string[];
}

/** The body as data; undefined when there is none. */
export async function readData(call: Call): Promise<unknown> {
  return (await readBody(call)).data;
}

async function readBody(call: Call): Promise<ReadBody> {
  const { request } = call;
  const bytes = await request.body();
  if (bytes.length === 0) return { data: undefined };
  const type = mediaTypeOf(request.headers['content-type']);
  if (JSON_TYPES.has(type)) {
    return parseJson(call, bytes);
  }
  if (YAML_TYPES.has(type)) return readYaml(call, decodeUtf8(bytes));
  if (type === PROTOBUF_TYPE) return { data: parseProtobuf(call, bytes) };
  throw statusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf`,
  );
}

export function readYaml({ step }: Call, text: string): Promise<YamlData> {
  return inSteps(fromYaml(text), () => step(text.length * YAML_COST));
}

/** The body as data and as text. */
export function parseJson(call: Call, bytes: Buffer): { readonly data: unknown; readonly json: string } {
  const json = boundedText(call, bytes);
  return { data: parseText(json), json };
}

function boundedText({ info }: Call, bytes: Buffer): string {
  const obstacle = jsonObstacle(bytes, maxValuesOf(info.resource));
  if (obstacle !== undefined) throw notJson(obstacle);
  return decodeUtf8(bytes);
}

function parseText(text: string): unknown {
  try {
    const data: unknown = JSON.parse(text);
    return HALF_PAIR.test(text) ? wellFormed(data) : data;
  } catch (cause) {
    throw notJson(cause instanceof Error ? jsonFault(text, cause.message) : 'not JSON', cause);
  }
}

/** Half of a pair can come only as an escape: the bytes are UTF-8. */
const HALF_PAIR = /\\u[dD][89a-fA-F]/;

/** As Go reads it: half of a pair is no character, and could be neither stored nor asked for. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/\p{Surrogate}/gu, '\ufffd');
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isMembers(value)) return value;
  const result: Members = {};
  for (const name of Object.keys(value)) setOwn(result, wellFormed(name) as string, wellFormed(value[name]));
  return result;
}

const notJson = (why: string, cause?: unknown) =>
  statusError('BadRequest', `couldn't get version/kind; json parse error: ${why}`, undefined, { cause });

function parseProtobuf({ info }: Call, bytes: Buffer): unknown {
  try {
    return decodeProtobuf(bytes, maxValuesOf(info.resource));
  } catch (cause) {
    if (!(cause instanceof ProtobufError)) throw cause;
    throw statusError('BadRequest', `the protobuf body cannot be read: ${cause.message}`, undefined, {
      cause,
    });
  }
}

const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf);

export function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw statusError('BadRequest', 'the body of the request is not valid UTF-8');
  const start = bytes.subarray(0, BYTE_ORDER_MARK.length);
  return bytes.toString('utf8', start.equals(BYTE_ORDER_MARK) ? start.length : 0);
}

/** The object that the body holds. */
export async function readObject(call: Call, kind: KindDefinition): Promise<DraftObject> {
  const isProtobuf = mediaTypeOf(call.request.headers['content-type']) === PROTOBUF_TYPE;
  if (isProtobuf && kind.custom !== undefined)
    throw statusError(
      'UnsupportedMediaType',
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
    );
  const body = await readBody(call);
  const { data, json } = body;
  if (data === undefined) throw statusError('BadRequest', 'the request has no body');
  await call.step(json?.length ?? 0);
  const duplicates = duplicatesIn(call, body);
  await call.step(json?.length ?? 0);
  refuseInexact(kind, body);
  return decodeAs(call, kind, data, { duplicates });
}

/** Which numbers of a custom object are whole, only its text tells: those of other kinds are judged by their fields. */
export function refuseInexact({ custom, type }: KindDefinition, { data, json }: ReadBody): void {
  const found = custom === undefined ? undefined : inexactNumber(data, json);
  if (found === undefined) return;
  const lead = `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}`;
  throw statusError('BadRequest', `${lead}: the number ${found} cannot be kept exactly`);
}

interface BodyOptions extends DecodeOptions {
  /** What is said of members that were written twice, as far as they were looked for: the data does not tell. */
  readonly duplicates?: readonly string[];
  /** The words of a refusal by fieldValidation=Strict; those of a decoder unless given. */
  readonly strictError?: typeof strictDecodingError;
}

export function decodeAs(
  call: Call,
  kind: KindDefinition,
  data: unknown,
  { duplicates = [], strictError = strictDecodingError, ...options }: BodyOptions = {},
): DraftObject {
  const form = formOf(kind, call);
  const { object, unknownFields } = form.decode?.(data, options) ?? decodeObject(form, data, options);
  const validation = fieldValidation(call.query);
  if (unknownFields.length + duplicates.length > 0 && validation === 'Strict')
    throw strictError(form.type, unknownFields, duplicates);
  if (validation === 'Warn') call.warnings.push(...unknownFields.map(unknownFieldWarning), ...duplicates);
  return toStored(call, object);
}

/** What is said of the members that a body names twice, unless nobody wants to know. */
export function duplicatesIn({ query }: Call, { data, json, duplicates = [] }: ReadBody): readonly string[] {
  if (fieldValidation(query) === 'Ignore') return [];
  return json === undefined ? duplicates : duplicateFields(json, data).map(duplicateFieldWarning);
}

/** A body that is not one of the kinds: DeleteOptions, Binding, Scale. */
export function decodeOther<T>(model: string, data: unknown): Decoded<T>['object'] {
  try {
    return decodeModel<T>(model, data).object;
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    const why = cause instanceof Error ? cause.message : 'wrong type';
    throw statusError(
      'BadRequest',
      `the body cannot be handled as ${model.replace(/^V1/, 'a ')}: ${why}`,
      undefined,
      { cause },
    );
  }
}
