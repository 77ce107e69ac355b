// Turns cached objects into the answer in the form the client asked for.
// Guarantees: in the plain form the cached bytes are sent as they are; only other forms parse them.
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { apiVersionOf } from '../../api/resources.js';
import { statusError } from '../../api/status.js';
import { type ApiResponse, bytesResponse, jsonResponse } from '../exchange.js';
import type { Call } from '../machinery.js';
import { encodeProtobuf, encodeProtobufList } from '../protobuf/encode.js';
import { parseObject } from '../registry/encode.js';
import type { ObjectPage } from '../registry/list.js';
import { formOf, fromStored, shownBytes } from '../verbs/served.js';
import { PROTOBUF_TYPE } from './negotiate.js';
import { type IncludeObject, partialMetadata, type TableOptions, table } from './table.js';
import { toYaml } from './yaml.js';

const COMMA = Buffer.from(',');
const END_OF_LIST = Buffer.from(']}\n');

export function renderObject(
  kind: KindDefinition,
  call: Call,
  bytes: Buffer,
  status: number,
  now: number,
): ApiResponse {
  const { negotiated, query } = call;
  const { form, version } = negotiated;
  if (negotiated.media === 'application/yaml') {
    return bytesResponse(status, toYaml(fromStored(call, parseObject(bytes))), negotiated.media);
  }
  if (negotiated.media === PROTOBUF_TYPE) {
    return bytesResponse(status, encodeProtobuf(fromStored(call, parseObject(bytes))), negotiated.media);
  }
  if (form === 'table') {
    const object = parseObject(bytes);
    const metadata = { resourceVersion: object.metadata?.resourceVersion };
    return jsonResponse(status, table(kind, [object], metadata, tableOptions(query, version, now)));
  }
  if (form === 'partial') return jsonResponse(status, partialMetadata(parseObject(bytes), version));
  return bytesResponse(status, shownBytes(call, bytes));
}

export function renderList(kind: KindDefinition, call: Call, page: ObjectPage, now: number): ApiResponse {
  const { negotiated, query } = call;
  const { form, version } = negotiated;
  const metadata = listMetadata(page);
  if (negotiated.media === 'application/yaml') {
    const items = page.items.map((item) => fromStored(call, item.parse<KubeObject>()));
    const { type } = formOf(kind, call);
    const list = { apiVersion: apiVersionOf(type), kind: `${type.kind}List`, metadata, items };
    return bytesResponse(200, toYaml(list), negotiated.media);
  }
  if (negotiated.media === PROTOBUF_TYPE) {
    const { type, model } = formOf(kind, call);
    const head = { kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata, model };
    return bytesResponse(200, encodeProtobufList(head, shownItems(call, page)), negotiated.media);
  }
  if (form === 'table') {
    const objects = page.items.map((item) => item.parse());
    return jsonResponse(200, table(kind, objects, metadata, tableOptions(query, version, now)));
  }
  if (form === 'partial') {
    const items = page.items.map((item) => partialMetadata(item.parse(), version));
    const apiVersion = `meta.k8s.io/${version}`;
    return jsonResponse(200, { kind: 'PartialObjectMetadataList', apiVersion, metadata, items });
  }
  return bytesResponse(200, listPieces(kind, call, metadata, page));
}

/** One by one, so that only one is there as an object at a time. */
function* shownItems(call: Call, { items }: ObjectPage): Generator<KubeObject> {
  for (const item of items) yield fromStored(call, item.parse<KubeObject>());
}

function listPieces(
  kind: KindDefinition,
  call: Call,
  metadata: object,
  { items }: ObjectPage,
): readonly Buffer[] {
  const { type } = formOf(kind, call);
  const head = JSON.stringify({ kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata });
  const pieces: Buffer[] = [Buffer.from(`${head.slice(0, -1)},"items":[`)];
  items.forEach(({ bytes }, index) => {
    if (index > 0) pieces.push(COMMA);
    pieces.push(shownBytes(call, bytes));
  });
  pieces.push(END_OF_LIST);
  return pieces;
}

function listMetadata({ revision, continueToken, remaining }: ObjectPage) {
  return {
    resourceVersion: String(revision),
    ...(continueToken === '' ? {} : { continue: continueToken }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
}

export function tableOptions(query: URLSearchParams, version: string, now: number): TableOptions {
  const include = query.get('includeObject') ?? 'Metadata';
  if (include !== 'None' && include !== 'Metadata' && include !== 'Object') {
    throw statusError('BadRequest', `unrecognized includeObject value: ${JSON.stringify(include)}`);
  }
  return { version, include: include as IncludeObject, now };
}
