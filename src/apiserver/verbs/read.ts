// GET, LIST and WATCH: answers made of the cache's bytes.
// Guarantees: a read without resourceVersion sees every write that was answered before it; a read that names an object
// shows no other.
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { apiVersionOf } from '../../api/resources.js';
import { demandedFields, demandedName } from '../../api/selectors.js';
import { notFound, statusError } from '../../api/status.js';
import { type ApiResponse, bytesResponse } from '../exchange.js';
import { PROTOBUF_TYPE } from '../output/negotiate.js';
import { renderList, renderObject } from '../output/render.js';
import { type IncludeObject, partialMetadata, table, tableOptions } from '../output/table.js';
import { encodeProtobuf, watchFrame } from '../protobuf/encode.js';
import type { CachedObject } from '../registry/cached.js';
import { callerOf, conversionOf, shownObject } from '../registry/conversion.js';
import { listShown } from '../registry/convertedList.js';
import { parseObject, withinLine } from '../registry/encode.js';
import { type EventForm, type EventType, lineFrame, type Shown } from '../registry/eventForm.js';
import { objectKey } from '../registry/keys.js';
import { parseRevision, tooLarge } from '../registry/selection.js';
import { watchObjects } from '../registry/watch.js';
import type { Call, ServerContext } from '../serverContext.js';
import { formOf, shownBytes } from './served.js';

/** Without a promise when the caches are known to be current: the most frequent of all requests. */
export function getObject(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> | ApiResponse {
  const { feed } = server;
  const revision = parseRevision(call.query.get('resourceVersion'));
  // 0 takes what is here; a number, anything from there on; none, the newest.
  const waiting = revision === undefined || revision > feed.revision ? feed.current() : undefined;
  const answer = () => heldObject(server, kind, call, revision);
  return waiting === undefined ? answer() : waiting.then(answer);
}

function heldObject(
  { feed, now }: ServerContext,
  kind: KindDefinition,
  call: Call,
  revision: number | undefined,
): Promise<ApiResponse> | ApiResponse {
  if (revision !== undefined && revision > feed.revision) throw tooLarge(revision, feed.revision);
  const { namespace, name } = call.info;
  const held = feed.cacheOf(kind).get(objectKey(kind.type, namespace, name));
  if (held === undefined) throw notFound(kind.type, name);
  const rendered = ({ bytes }: CachedObject) => renderObject(kind, call, bytes, 200, now());
  if (conversionOf(kind) === undefined) return rendered(held);
  const shown = shownObject({ kind, ...call }, held);
  return shown instanceof Promise ? shown.then(rendered) : rendered(shown);
}

export async function getList(server: ServerContext, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const { info, query } = call;
  const page = await listShown(server, kind, {
    namespace: info.namespace,
    query,
    caller: callerOf(call),
  });
  return renderList(kind, call, page, server.now());
}

export async function getWatch(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  const { info, query, request } = call;
  const isProtobuf = call.negotiated.media === PROTOBUF_TYPE;
  const form = eventForm(kind, call);
  const body = await watchObjects(server, {
    kind,
    namespace: kind.type.resource === 'namespaces' ? '' : info.namespace,
    query: info.name === '' ? query : named(query, info.name),
    form,
    shownAs: shownAs(kind, call),
    signal: request.signal,
    user: call.user.name,
  });
  if (isProtobuf) return bytesResponse(200, body, `${PROTOBUF_TYPE};stream=watch`);
  const answer = bytesResponse(200, body);
  const takesObjects = request.takesObjects === true && form.show !== undefined;
  return takesObjects ? { ...answer, events: body.events() } : answer;
}

const protobufFrame = (type: EventType, json: Buffer) => watchFrame(type, encodeProtobuf(parseObject(json)));

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

function eventForm(kind: KindDefinition, call: Call): EventForm {
  const { media, form, version } = call.negotiated;
  const isProtobuf = media === PROTOBUF_TYPE;
  if (form === 'partial') {
    const encode = (bytes: Buffer) =>
      Buffer.from(JSON.stringify(partialMetadata(parseObject(bytes), version)));
    return {
      name: `partial ${version} ${media}`,
      encode,
      frame: isProtobuf ? protobufFrame : lineFrame,
      show: (object) => partialMetadata(object, version),
    };
  }
  if (form === 'table') return tableForm(kind, call);
  return {
    name: `${isProtobuf ? 'protobuf' : 'json'} ${call.served === undefined ? '' : apiVersionOf(call.served.type)}`,
    encode: call.served === undefined ? undefined : (bytes) => withinLine(shownBytes(call, bytes)),
    frame: isProtobuf ? protobufFrame : lineFrame,
    show: call.served === undefined ? asStored : undefined,
  };
}

const asStored = (object: KubeObject) => object;

function tableForm(kind: KindDefinition, { query, negotiated: { version } }: Call): EventForm {
  const { include } = tableOptions(query, version, 0);
  const encodeWith =
    (shown: IncludeObject) =>
    (bytes: Buffer, { timeMs, isFirst }: Shown) => {
      const object = parseObject(bytes);
      const metadata = { resourceVersion: object.metadata?.resourceVersion };
      const rows = table(kind, [object], metadata, { version, include: shown, now: timeMs });
      // The columns are told once; kubectl would print its head line again for every event.
      return Buffer.from(JSON.stringify(isFirst ? rows : { ...rows, columnDefinitions: null }));
    };
  return {
    name: `table ${version} ${include}`,
    isVaried: true,
    frame: lineFrame,
    encode: encodeWith(include),
    // What a bookmark says is in its metadata: without them it could not tell that the state at the start is complete.
    encodeBookmark: encodeWith(include === 'None' ? 'Metadata' : include),
  };
}
