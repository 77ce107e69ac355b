// The forms of a list: what goes before its items, between and behind them, and how one item is written.
// Guarantees: each form is the same as if the whole list had been written at once; one object is parsed at a time.
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { apiVersionOf } from '../../api/resources.js';
import { encodeProtobufItem, type ListHead, protobufListEnds } from '../protobuf/encode.js';
import { PARTIAL_METADATA } from '../protobuf/messages.js';
import type { CachedObject } from '../registry/cached.js';
import { parseObject } from '../registry/encode.js';
import type { ObjectPage } from '../registry/list.js';
import { PageReader } from '../registry/pageReader.js';
import type { Call } from '../serverContext.js';
import { formOf, fromStored } from '../verbs/served.js';
import { PROTOBUF_TYPE } from './negotiate.js';
import { columnDefinitions, partialMetadata, tableOptions, tableRow } from './table.js';
import { toYaml } from './yaml.js';

export interface ListForm {
  readonly media: string;
  /** All that an item's bytes depend on beside the object. */
  readonly name: string;
  readonly head: Buffer;
  readonly between: Buffer;
  readonly tail: Buffer;
  item(object: CachedObject): Buffer;
  /** Of the whole list, when it is known before the items are made. */
  readonly length?: number;
  /** Set when items are the cached bytes, from there on. */
  readonly plainFrom?: number;
}

const JSON_TYPE = 'application/json';
const COMMA = Buffer.from(',');
const BRACE = Buffer.from('{');
const NOTHING = Buffer.alloc(0);
/** A slice of the event loop: measuring a list of many megabytes must not hold others up. */
const SLICE_MS = 5;

interface ListRequest {
  readonly kind: KindDefinition;
  readonly call: Call;
  readonly page: ObjectPage;
  /** Of the page: what it holds need not be read twice. */
  readonly reader: PageReader;
  readonly now: number;
}

export async function listForm(request: ListRequest): Promise<ListForm> {
  const { kind, call, page, now } = request;
  const { media, form } = call.negotiated;
  if (media === 'application/yaml') return yamlForm(request);
  if (media === PROTOBUF_TYPE) return protobufForm(request);
  if (form === 'table') return tableForm(kind, call, page, now);
  if (form === 'partial') return partialForm(call, page);
  const { type } = formOf(kind, call);
  const listKind = kind.listKind ?? `${type.kind}List`;
  const head = { kind: listKind, apiVersion: apiVersionOf(type), metadata: listMetadata(page) };
  if (call.served !== undefined) {
    const shown = kind.custom === undefined ? itemOf : (object: KubeObject) => object;
    const item = ({ bytes }: CachedObject) =>
      Buffer.from(JSON.stringify(shown(fromStored(call, parseObject(bytes)))));
    return jsonForm('items', head, item, `items ${apiVersionOf(type)}`);
  }
  return kind.custom === undefined ? plainForm(kind, page, head) : wholeForm(page, head);
}

/** The cached bytes as they are: items of custom kinds say what they are in lists too. */
function wholeForm(page: ObjectPage, list: object): ListForm {
  const whole = { ...jsonForm('items', list, ({ bytes }) => bytes), plainFrom: 0 };
  if (page.count === undefined) return whole;
  const commas = COMMA.length * Math.max(0, page.count - 1);
  return { ...whole, length: whole.head.length + page.bytes + commas + whole.tail.length };
}

/** The cached bytes without their kind and apiVersion, which come first and are the same in all: see registry/encode. */
function plainForm({ type }: KindDefinition, page: ObjectPage, list: object): ListForm {
  const typed = `${JSON.stringify({ kind: type.kind, apiVersion: apiVersionOf(type) }).slice(0, -1)},`;
  const from = Buffer.byteLength(typed);
  const plain = jsonForm('items', list, ({ bytes }) => bytes.subarray(from));
  if (page.count === undefined || page.count === 0) return plain;
  const head = Buffer.concat([plain.head, BRACE]);
  const between = Buffer.concat([COMMA, BRACE]);
  const itemBytes = page.bytes - page.count * from + (page.count - 1) * between.length;
  return { ...plain, head, between, plainFrom: from, length: head.length + itemBytes + plain.tail.length };
}

/** Of a list, which says what its items are. */
function itemOf({ kind: _k, apiVersion: _a, ...item }: KubeObject): object {
  return item;
}

/** `list` with one more member, an array. */
function jsonForm(member: string, list: object, item: ListForm['item'], name = member): ListForm {
  const head = Buffer.from(`${JSON.stringify(list).slice(0, -1)},"${member}":[`);
  return { media: JSON_TYPE, name, head, between: COMMA, tail: Buffer.from(']}\n'), item };
}

function partialForm({ negotiated: { version } }: Call, page: ObjectPage): ListForm {
  const item = (object: CachedObject) =>
    Buffer.from(JSON.stringify(partialMetadata(object.parse(), version)));
  return jsonForm('items', partialHead(version, page), item, `partial ${version}`);
}

const partialHead = (version: string, page: ObjectPage): ListHead => ({
  kind: 'PartialObjectMetadataList',
  apiVersion: `meta.k8s.io/${version}`,
  metadata: listMetadata(page),
});

function tableForm(kind: KindDefinition, call: Call, page: ObjectPage, now: number): ListForm {
  const { query, negotiated } = call;
  const options = tableOptions(query, negotiated.version, now);
  const head = {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata: listMetadata(page),
    columnDefinitions: columnDefinitions(kind),
  };
  const item = (object: CachedObject) => Buffer.from(JSON.stringify(tableRow(kind, object.parse(), options)));
  return jsonForm('rows', head, item, `table ${options.version} ${options.include} ${now}`);
}

async function yamlForm({ kind, call, page, reader }: ListRequest): Promise<ListForm> {
  const { type } = formOf(kind, call);
  const listKind = kind.listKind ?? `${type.kind}List`;
  const list = { apiVersion: apiVersionOf(type), kind: listKind, metadata: listMetadata(page) };
  const items = Buffer.from('items:\n');
  if (page.count === undefined && reader.current === undefined) await reader.load();
  const isEmpty = page.count === undefined ? reader.ended : page.count === 0;
  return {
    media: 'application/yaml',
    name: `yaml ${apiVersionOf(type)}`,
    head: isEmpty ? toYaml({ ...list, items: [] }) : Buffer.concat([toYaml(list), items]),
    between: NOTHING,
    tail: NOTHING,
    // As the one item of a list, so that it has its indentation; the line that names the list goes.
    item: (object) =>
      toYaml({ items: [itemOf(fromStored(call, object.parse<KubeObject>()))] }).subarray(items.length),
  };
}

async function protobufForm(request: ListRequest): Promise<ListForm> {
  const { kind, call, page, reader } = request;
  const { form, version } = call.negotiated;
  if (form === 'partial') return partialProtobufForm(request, version);
  const { type, model } = formOf(kind, call);
  const item = (object: CachedObject) =>
    encodeProtobufItem(model, fromStored(call, object.parse<KubeObject>()));
  const listKind = kind.listKind ?? `${type.kind}List`;
  const head = { kind: listKind, apiVersion: apiVersionOf(type), metadata: listMetadata(page) };
  // The length is known for what was listed before and has not changed since; it is that of the stored form.
  const size = (object: CachedObject) => {
    if (call.served !== undefined) return item(object).length;
    object.protobufBytes ??= item(object).length;
    return object.protobufBytes;
  };
  return measuredForm({ page, reader }, { head, item, size, name: `protobuf ${apiVersionOf(type)}` });
}

function partialProtobufForm({ page, reader }: ListRequest, version: string): Promise<ListForm> {
  const head = partialHead(version, page);
  const item = (object: CachedObject) =>
    encodeProtobufItem(PARTIAL_METADATA, partialMetadata(object.parse(), version));
  const size = (object: CachedObject) => item(object).length;
  return measuredForm({ page, reader }, { head, item, size, name: `protobuf partial ${version}` });
}

interface Measured extends Pick<ListForm, 'item' | 'name'> {
  readonly head: ListHead;
  size(object: CachedObject): number;
}

/** A list in protobuf says how long it is before its items. */
async function measuredForm(
  { page, reader }: Pick<ListRequest, 'page' | 'reader'>,
  { head, item, size, name }: Measured,
): Promise<ListForm> {
  const measured = reader.isWhole ? new PageReader(reader.held) : page.reader();
  const itemBytes = await sumOf(measured, size);
  const ends = protobufListEnds(head, itemBytes);
  return {
    media: PROTOBUF_TYPE,
    name,
    between: NOTHING,
    item,
    ...ends,
    length: ends.head.length + itemBytes + ends.tail.length,
  };
}

async function sumOf(reader: PageReader, size: (object: CachedObject) => number): Promise<number> {
  let sum = 0;
  let until = performance.now() + SLICE_MS;
  for (; !reader.ended; await reader.load()) {
    for (; reader.current !== undefined; reader.take()) {
      sum += size(reader.current);
      if (performance.now() < until) continue;
      await new Promise((resolve) => setImmediate(resolve));
      until = performance.now() + SLICE_MS;
    }
  }
  return sum;
}

function listMetadata({ revision, continueToken, remaining }: ObjectPage) {
  return {
    resourceVersion: String(revision),
    ...(continueToken === '' ? {} : { continue: continueToken }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
}
