// Kubernetes' protobuf into the JSON that it stands for, so that typed Go clients can write. Pure.
// Guarantees: what comes out is checked like any JSON body; a field that is not known is refused, never dropped.
import { jsonObstacle, MAX_VALUES, tooMany } from '../../api/bodyBounds.js';
import { setOwn } from '../../api/ownKeys.js';
import { fieldNumbers } from './fieldNumbers.js';
import { type Field, MAGIC, messageOf, modelOf } from './messages.js';
import { bytesOf, integerOf, ProtobufError, wireFields } from './wire.js';

const MAX_DEPTH = 64;

/** Fields that may still be read: a message of two bytes an element would become millions of objects. */
interface Budget {
  left: number;
  readonly most: number;
}

function spend(budget: Budget): void {
  budget.left -= 1;
  if (budget.left < 0) throw new ProtobufError(tooMany(budget.most));
}

interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Buffer;
}

/** The envelope that says what the message inside is. */
export function openEnvelope(bytes: Buffer): Envelope {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new ProtobufError('the body does not begin as Kubernetes protobuf does');
  }
  let raw: Buffer = Buffer.alloc(0);
  let apiVersion = '';
  let kind = '';
  for (const { number, value } of wireFields(bytes.subarray(MAGIC.length))) {
    if (number === 2) raw = bytesOf(value);
    if (number !== 1) continue;
    for (const field of wireFields(bytesOf(value))) {
      if (field.number === 1) apiVersion = bytesOf(field.value).toString('utf8');
      if (field.number === 2) kind = bytesOf(field.value).toString('utf8');
    }
  }
  return { apiVersion, kind, raw };
}

/** A body as data. */
export function decodeProtobuf(bytes: Buffer, maxValues: number = MAX_VALUES): unknown {
  const envelope = openEnvelope(bytes);
  const model = modelOf(envelope);
  if (fieldNumbers[model] === undefined) {
    throw new ProtobufError(`no protobuf is known for ${envelope.kind} in ${envelope.apiVersion}`);
  }
  return {
    apiVersion: envelope.apiVersion,
    kind: envelope.kind,
    ...readMessage(model, envelope.raw, { left: maxValues, most: maxValues }),
  };
}

type Members = Record<string, unknown>;

function readMessage(model: string, bytes: Buffer, budget: Budget, depth = 0): Members {
  if (depth > MAX_DEPTH) throw new ProtobufError('the message is nested too deeply');
  const { byNumber } = messageOf(model);
  const members: Members = {};
  for (const { number, value } of wireFields(bytes)) {
    spend(budget);
    const field = byNumber.get(number);
    if (field === undefined) {
      if (isRetired(model, number, value)) continue;
      throw unknownField(model, number);
    }
    const { name, code, inline } = field;
    if (inline) Object.assign(members, readMessage(`${model}+${name}`, bytesOf(value), budget, depth + 1));
    else if (code.startsWith('[]'))
      listOf(members, name).push(readValue(code.slice(2), value, budget, depth));
    else if (code.startsWith('{}'))
      readEntry(mapOf(members, name), { code: code.slice(2), bytes: bytesOf(value) }, budget, depth);
    else {
      const read = readValue(code, value, budget, depth);
      if (!isUnset(field, read)) members[name] = read;
    }
  }
  return members;
}

/** ObjectMeta.clusterName: gone since 1.24, but older clients always send it, empty. */
const isRetired = (model: string, number: number, value: bigint | Buffer) =>
  model === 'V1ObjectMeta' && number === 15 && bytesOf(value).length === 0;

/** Dropping it could turn what a newer client means into something else. */
const unknownField = (model: string, number: number) =>
  new ProtobufError(`message ${model.split('+')[0]} has no known field number ${number}`);

const listOf = (members: Members, name: string): unknown[] => {
  members[name] ??= [];
  return members[name] as unknown[];
};

const mapOf = (members: Members, name: string): Members => {
  members[name] ??= {};
  return members[name] as Members;
};

function readEntry(
  map: Members,
  { code, bytes }: { code: string; bytes: Buffer },
  budget: Budget,
  depth: number,
): void {
  let key = '';
  let value: unknown = code === 's' || code === 'y' ? '' : {};
  for (const field of wireFields(bytes)) {
    spend(budget);
    if (field.number === 1) key = bytesOf(field.value).toString('utf8');
    if (field.number === 2) value = readValue(code, field.value, budget, depth);
  }
  setOwn(map, key, value);
}

function readValue(code: string, value: bigint | Buffer, budget: Budget, depth: number): unknown {
  switch (code) {
    case 's':
      return bytesOf(value).toString('utf8');
    case 'y':
      return bytesOf(value).toString('base64');
    case 'i':
      return integerOf(value);
    case 'b':
      return integerOf(value) !== 0;
    case 'n':
      return bytesOf(value).readDoubleLE(0);
    case 't':
      return readTime(bytesOf(value), 0);
    case 'u':
      return readTime(bytesOf(value), 6);
    case 'q':
      return textField(bytesOf(value), 1);
    case 'x':
      return readIntOrString(bytesOf(value));
    case 'l':
      return readTexts(bytesOf(value), budget);
    case 'any':
      return readRaw(bytesOf(value));
    case 'any-e':
      return {};
    case 'any-a':
    case 'any-o':
    case 'any-d':
      return readEither(code, bytesOf(value), budget, depth);
    default:
      return readMessage(code, bytesOf(value), budget, depth + 1);
  }
}

const SCHEMA = 'V1JSONSchemaProps';

/** A schema, or what may stand in its place. */
function readEither(code: string, bytes: Buffer, budget: Budget, depth: number): unknown {
  let schema: Members | undefined;
  let allows = false;
  const list: unknown[] = [];
  for (const { number, value } of wireFields(bytes)) {
    spend(budget);
    const isSchema = number === (code === 'any-o' ? 2 : 1);
    if (isSchema) schema = readMessage(SCHEMA, bytesOf(value), budget, depth + 1);
    else if (code === 'any-o') allows = integerOf(value) !== 0;
    else if (code === 'any-d') list.push(bytesOf(value).toString('utf8'));
    else list.push(readMessage(SCHEMA, bytesOf(value), budget, depth + 1));
  }
  return schema ?? (code === 'any-o' ? allows : list);
}

function readTexts(bytes: Buffer, budget: Budget): string[] {
  const texts: string[] = [];
  for (const { value } of wireFields(bytes)) {
    spend(budget);
    texts.push(bytesOf(value).toString('utf8'));
  }
  return texts;
}

/** Go's zero time is an empty message: null in JSON. */
function readTime(bytes: Buffer, digits: number): string | null {
  let seconds: number | undefined;
  let nanos = 0;
  for (const { number, value } of wireFields(bytes)) {
    if (number === 1) seconds = integerOf(value);
    if (number === 2) nanos = integerOf(value);
  }
  if (seconds === undefined) return null;
  const ms = seconds * 1000;
  if (!(Math.abs(ms) <= 8.64e15)) throw new ProtobufError('a time is out of range');
  const whole = new Date(ms).toISOString().slice(0, 19);
  return digits === 0 ? `${whole}Z` : `${whole}.${String(Math.floor(nanos / 1000)).padStart(digits, '0')}Z`;
}

function readIntOrString(bytes: Buffer): number | string {
  let isText = false;
  let number = 0;
  for (const field of wireFields(bytes)) {
    if (field.number === 1) isText = integerOf(field.value) === 1;
    if (field.number === 2) number = integerOf(field.value);
  }
  return isText ? textField(bytes, 3) : number;
}

function textField(bytes: Buffer, wanted: number): string {
  for (const { number, value } of wireFields(bytes)) {
    if (number === wanted) return bytesOf(value).toString('utf8');
  }
  return '';
}

function readRaw(bytes: Buffer): unknown {
  const text = textField(bytes, 1);
  const obstacle = jsonObstacle(Buffer.from(text));
  if (obstacle !== undefined) throw new ProtobufError(`an embedded object: ${obstacle}`);
  try {
    return text === '' ? null : JSON.parse(text);
  } catch (cause) {
    throw new ProtobufError('an embedded object is not JSON', { cause });
  }
}

// Go writes every plain field, set or not, and JSON leaves the unset ones out. A zero says something only where Go has a
// pointer, or where the field must be there.
function isUnset({ keepsZero }: Field, value: unknown): boolean {
  if (value === null) return true;
  return (value === '' || value === 0 || value === false) && !keepsZero;
}
