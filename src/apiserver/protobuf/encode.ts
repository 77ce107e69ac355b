// Objects as Kubernetes' protobuf, for Go clients that prefer it. Pure; the inverse of decode.ts.
// Guarantees: what is written reads back as the same JSON; a field whose number is not known is left out.
import { goText } from '../../api/goForm.js';
import type { KubeObject } from '../../api/object.js';
import { getOwn, type Members } from '../../api/ownKeys.js';
import { type Field, MAGIC, messageOf, modelOf } from './messages.js';
import { WireWriter } from './wireWriter.js';

/** One object, with the envelope that says what it is. */
export function encodeProtobuf(object: KubeObject): Buffer {
  const { apiVersion = '', kind = '' } = object;
  const model = modelOf({ apiVersion, kind });
  return sealed({ apiVersion, kind }, (raw) => writeMessage(raw, model, object as unknown as Members));
}

/** One item of a list: what goes between its head and its end. */
export function encodeProtobufItem(model: string, item: object): Buffer {
  const out = new WireWriter();
  out.message(2, () => writeMessage(out, model, item as Members));
  return out.finish();
}

export interface ListHead {
  /** Of the list: `PodList`. */
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: object;
}

/** What goes before and behind the items of a list; their length together is told before them. */
export function protobufListEnds(
  { kind, apiVersion, metadata }: ListHead,
  itemBytes: number,
): { readonly head: Buffer; readonly tail: Buffer } {
  const meta = new WireWriter();
  meta.message(1, () => writeMessage(meta, 'V1ListMeta', metadata as Members));
  const start = meta.finish();
  const head = new WireWriter();
  writeType(head, { apiVersion, kind });
  head.lengthOf(2, start.length + itemBytes);
  head.raw(start);
  const tail = new WireWriter();
  writeEnd(tail);
  return { head: head.finish(), tail: tail.finish() };
}

/** One event of a watch, framed by its length. `object` is an encoded object with its envelope. */
export function watchFrame(type: string, object: Buffer): Buffer {
  const out = new WireWriter();
  out.text(1, type);
  out.message(2, () => out.bytes(1, object));
  const event = out.finish();
  const frame = Buffer.allocUnsafe(4 + event.length);
  frame.writeUInt32BE(event.length, 0);
  event.copy(frame, 4);
  return frame;
}

function sealed(
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  write: (raw: WireWriter) => void,
): Buffer {
  const out = new WireWriter();
  writeType(out, { apiVersion, kind });
  out.message(2, () => write(out));
  writeEnd(out);
  return out.finish();
}

function writeType(
  out: WireWriter,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
): void {
  out.raw(MAGIC);
  out.message(1, () => {
    out.text(1, apiVersion);
    out.text(2, kind);
  });
}

/** Encoding and type of the content: none, which is what Go writes too. */
function writeEnd(out: WireWriter): void {
  out.text(3, '');
  out.text(4, '');
}

function writeMessage(out: WireWriter, model: string, members: Members): void {
  for (const field of messageOf(model).fields) {
    if (field.inline) {
      const part = `${model}+${field.name}`;
      if (isPresent(part, members)) out.message(field.number, () => writeMessage(out, part, members));
      continue;
    }
    const value = members[field.name];
    // Most fields of most objects are not there: asked first, since that costs least.
    if (value !== undefined && value !== null && Object.hasOwn(members, field.name))
      writeField(out, field, value);
  }
}

/** An inlined part has no member of its own: it is there when one of its fields is. */
function isPresent(part: string, members: Members): boolean {
  return messageOf(part).fields.some(({ name }) => getOwn(members, name) !== undefined);
}

function writeField(out: WireWriter, { number, shape, item }: Field, value: unknown): void {
  if (shape === 'one') writeValue(out, number, item, value);
  else if (shape === 'list') {
    for (const one of value as unknown[]) writeValue(out, number, item, one);
  } else {
    for (const key of Object.keys(value as Members).sort())
      out.message(number, () => {
        out.text(1, key);
        writeValue(out, 2, item, (value as Members)[key]);
      });
  }
}

function writeValue(out: WireWriter, number: number, code: string, value: unknown): void {
  switch (code) {
    case 's':
      out.text(number, value as string);
      break;
    case 'y':
      out.bytes(number, Buffer.from(value as string, 'base64'));
      break;
    case 'i':
      out.integer(number, value as number);
      break;
    case 'b':
      out.integer(number, value === true ? 1 : 0);
      break;
    case 'n':
      out.double(number, value as number);
      break;
    case 't':
    case 'u':
      out.message(number, () => writeTime(out, value as string));
      break;
    case 'q':
      // JSON may have it as a number.
      out.message(number, () => out.text(1, String(value)));
      break;
    case 'x':
      out.message(number, () => writeIntOrString(out, value as number | string));
      break;
    case 'l':
      out.message(number, () => {
        for (const item of value as string[]) out.text(1, item);
      });
      break;
    case 'any':
      out.message(number, () => out.text(1, goText(value)));
      break;
    case 'any-e':
      out.message(number, () => {});
      break;
    case 'any-a':
    case 'any-o':
    case 'any-d':
      out.message(number, () => writeEither(out, code, value));
      break;
    default:
      out.message(number, () => writeMessage(out, code, value as Members));
  }
}

const SCHEMA = 'V1JSONSchemaProps';

/** A schema, or what may stand in its place: a boolean, a list of schemas, a list of names. */
function writeEither(out: WireWriter, code: string, value: unknown): void {
  const schema = (at: number, one: unknown) =>
    out.message(at, () => writeMessage(out, SCHEMA, one as Members));
  if (code === 'any-o') {
    out.integer(1, value === false ? 0 : 1);
    if (typeof value === 'object') schema(2, value);
  } else if (!Array.isArray(value)) schema(1, value);
  else for (const one of value) code === 'any-d' ? out.text(2, String(one)) : schema(2, one);
}

function writeTime(out: WireWriter, text: string): void {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return;
  const seconds = Math.floor(ms / 1000);
  const fraction = /\.(\d{1,9})/.exec(text)?.[1] ?? '';
  out.integer(1, seconds);
  out.integer(2, Number(fraction.padEnd(9, '0')));
}

function writeIntOrString(out: WireWriter, value: number | string): void {
  const isText = typeof value === 'string';
  out.integer(1, isText ? 1 : 0);
  out.integer(2, isText ? 0 : value);
  out.text(3, isText ? value : '');
}
