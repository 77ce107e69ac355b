// Turns cached objects into the answer in the form the client asked for.
// Guarantees: in the plain form the cached bytes are sent as they are; only other forms parse them.
import type { KindDefinition } from '../../api/kind.js';
import { type ApiResponse, bytesResponse, jsonResponse } from '../exchange.js';
import { encodeProtobuf } from '../protobuf/encode.js';
import { parseObject } from '../registry/encode.js';
import type { ObjectPage } from '../registry/list.js';
import type { Call } from '../serverContext.js';
import { fromStored, shownBytes } from '../verbs/served.js';
import { ListBody } from './listBody.js';
import { listForm } from './listForm.js';
import { PROTOBUF_TYPE } from './negotiate.js';
import { partialMetadata, table, tableOptions } from './table.js';
import { toYaml } from './yaml.js';

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
    const object = parseObject(bytes);
    const shown = form === 'partial' ? partialMetadata(object, version) : fromStored(call, object);
    return bytesResponse(status, encodeProtobuf(shown), negotiated.media);
  }
  if (form === 'table') {
    const object = parseObject(bytes);
    const metadata = { resourceVersion: object.metadata?.resourceVersion };
    return jsonResponse(status, table(kind, [object], metadata, tableOptions(query, version, now)));
  }
  if (form === 'partial') return jsonResponse(status, partialMetadata(parseObject(bytes), version));
  return bytesResponse(status, shownBytes(call, bytes));
}

export async function renderList(
  kind: KindDefinition,
  call: Call,
  page: ObjectPage,
  now: number,
): Promise<ApiResponse> {
  const reader = page.reader();
  const form = await listForm({ kind, call, page, reader, now });
  const list = new ListBody(form, reader);
  const small = await list.small();
  if (small !== undefined) return bytesResponse(200, small, form.media);
  const answer = { ...bytesResponse(200, list, form.media), ends: true };
  const { length } = form;
  return length === undefined
    ? answer
    : { ...answer, headers: { ...answer.headers, 'content-length': String(length) } };
}
