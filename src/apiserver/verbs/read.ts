// GET, LIST and WATCH: answers made of the cache's bytes.
// Guarantees: a read without resourceVersion sees every write that was answered before it; a read that names an object
// shows no other.
import type { KindDefinition } from '../../api/kind.js';
import { apiVersionOf } from '../../api/resources.js';
import { demandedFields, demandedName } from '../../api/selectors.js';
import { notFound, statusError } from '../../api/status.js';
import { type ApiResponse, bytesResponse } from '../exchange.js';
import type { Call, Machinery } from '../machinery.js';
import { PROTOBUF_TYPE } from '../output/negotiate.js';
import { renderList, renderObject, tableOptions } from '../output/render.js';
import { partialMetadata, table } from '../output/table.js';
import { encodeProtobuf, watchFrame } from '../protobuf/encode.js';
import { parseObject, withinLine } from '../registry/encode.js';
import { objectKey } from '../registry/keys.js';
import { listObjects } from '../registry/list.js';
import { parseRevision, tooLarge } from '../registry/selection.js';
import { type EventEncoder, type EventType, watchObjects } from '../registry/watch.js';
import { formOf, shownBytes } from './served.js';

/** Without a promise when the caches are known to be current: the most frequent of all requests. */
export function getObject(
  machinery: Machinery,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> | ApiResponse {
  const { feed } = machinery;
  const revision = parseRevision(call.query.get('resourceVersion'));
  // 0 takes what is here; a number, anything from there on; none, the newest.
  const waiting = revision === undefined || revision > feed.revision ? feed.current() : undefined;
  const answer = () => heldObject(machinery, kind, call, revision);
  return waiting === undefined ? answer() : waiting.then(answer);
}

function heldObject(
  { feed, now }: Machinery,
  kind: KindDefinition,
  call: Call,
  revision: number | undefined,
): ApiResponse {
  if (revision !== undefined && revision > feed.revision) throw tooLarge(revision, feed.revision);
  const { namespace, name } = call.info;
  const held = feed.cacheOf(kind).get(objectKey(kind.type, namespace, name));
  if (held === undefined) throw notFound(kind.type, name);
  return renderObject(kind, call, held.bytes, 200, now());
}

export async function getList(machinery: Machinery, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const page = await listObjects(machinery, kind, call.info.namespace, call.query);
  return renderList(kind, call, page, machinery.now());
}

export async function getWatch(machinery: Machinery, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const { info, query, request } = call;
  const isProtobuf = call.negotiated.media === PROTOBUF_TYPE;
  const body = await watchObjects(machinery, {
    kind,
    namespace: kind.type.resource === 'namespaces' ? '' : info.namespace,
    query: info.name === '' ? query : named(query, info.name),
    encode: encoderOf(machinery, kind, call),
    frame: isProtobuf ? protobufFrame : undefined,
    shownAs: shownAs(kind, call),
    signal: request.signal,
  });
  return isProtobuf ? bytesResponse(200, body, `${PROTOBUF_TYPE};stream=watch`) : bytesResponse(200, body);
}

let lastFrame: { readonly type: EventType; readonly json: Buffer; readonly frame: Buffer } | undefined;

/**
 * A change is told to its watchers in turn, all with the same bytes: it is encoded for the first of them. No more than
 * the last is kept: beside each object in the caches it would double their memory.
 */
function protobufFrame(type: EventType, json: Buffer): Buffer {
  if (lastFrame?.json !== json || lastFrame.type !== type) {
    lastFrame = { type, json, frame: watchFrame(type, encodeProtobuf(parseObject(json))) };
  }
  return lastFrame.frame;
}

function shownAs(kind: KindDefinition, call: Call) {
  const { form, version } = call.negotiated;
  if (form === 'partial') return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}` };
  const { type } = formOf(kind, call);
  return { kind: type.kind, apiVersion: apiVersionOf(type) };
}

/** The name was authorized, so nothing else is shown, whatever else is selected. */
function named(query: URLSearchParams, name: string): URLSearchParams {
  const asked = query.get('fieldSelector') ?? '';
  if ((demandedName(demandedFields(asked)) ?? name) !== name) {
    throw statusError('BadRequest', "fieldSelector metadata.name doesn't match requested name");
  }
  const copy = new URLSearchParams(query);
  const escaped = name.replace(/[\\,=]/g, '\\$&');
  copy.set('fieldSelector', `metadata.name=${escaped}${asked === '' ? '' : `,${asked}`}`);
  return copy;
}

function encoderOf(machinery: Machinery, kind: KindDefinition, call: Call): EventEncoder | undefined {
  const { negotiated, query } = call;
  const { form, version } = negotiated;
  if (form === 'partial') {
    return (bytes) => Buffer.from(JSON.stringify(partialMetadata(parseObject(bytes), version)));
  }
  if (form !== 'table') {
    return call.served === undefined ? undefined : (bytes) => withinLine(shownBytes(call, bytes));
  }
  let isFirst = true;
  return (bytes) => {
    const object = parseObject(bytes);
    const metadata = { resourceVersion: object.metadata?.resourceVersion };
    const rows = table(kind, [object], metadata, tableOptions(query, version, machinery.now()));
    // The columns are told once; kubectl would print its head line again for every event.
    const sent = isFirst ? rows : { ...rows, columnDefinitions: null };
    isFirst = false;
    return Buffer.from(JSON.stringify(sent));
  };
}
