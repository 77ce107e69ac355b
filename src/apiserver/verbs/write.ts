// POST, PUT and DELETE on objects: bodies in, registry calls, answers out.
// Guarantees: the name and namespace of the URL, which were authorized, are the ones that are written.
import type { V1DeleteOptions } from '../../api/gen/types.js';
import { type Draft, type KindDefinition, STATUS_METADATA } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { copyJson } from '../../api/ownKeys.js';
import { ApiError, invalid, notFound, statusError } from '../../api/status.js';
import { type ApiResponse, jsonResponse } from '../exchange.js';
import { renderList, renderObject } from '../output/render.js';
import type { WriteContext } from '../registry/admit.js';
import { callerOf } from '../registry/conversion.js';
import { listShown } from '../registry/convertedList.js';
import { createObject } from '../registry/create.js';
import { deleteObject } from '../registry/delete.js';
import { namesPolicy } from '../registry/deletion.js';
import { eachOf } from '../registry/list.js';
import type { DraftObject } from '../registry/metadata.js';
import { updateObject } from '../registry/update.js';
import type { Call, ServerContext } from '../serverContext.js';
import { decodeOther, readData, readObject } from './body.js';
import { managerOf } from './fieldManager.js';
import { deleteRequest, isDryRun } from './options.js';
import { formOf } from './served.js';

const DELETIONS_AT_ONCE = 64;
/** An object that comes and goes all the time is tried so often. */
const ATTEMPTS = 5;

export function writeContext(kind: KindDefinition, call: Call): WriteContext {
  const { info, user, query, warnings } = call;
  const { name, subresource } = info;
  const namespace = kind.type.namespaced ? info.namespace : '';
  return {
    kind,
    namespace,
    name,
    subresource,
    user,
    dryRun: isDryRun(query),
    manager: managerOf(kind, call),
    warn: (text) => void warnings.push(text),
    annotate: call.annotate,
    sentBytes: Number(call.request.headers['content-length'] ?? 0),
    step: call.step,
    request: call.request,
    term: call.request.term,
  };
}

export async function postObject(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  const context = writeContext(kind, call);
  const draft = await readObject(call, kind);
  if (kind.type.namespaced && context.namespace === '') {
    throw statusError('BadRequest', 'an object of this kind can only be created in a namespace');
  }
  checkNamespace(context, draft);
  const bytes = await createObject(server, context, draft);
  return renderObject(kind, call, bytes, 201, server.now());
}

export async function putObject(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  const context = writeContext(kind, call);
  const draft = await readObject(call, kind);
  checkNames(context, draft);
  const transform = (current: Draft<KubeObject>) => {
    requireVersion(context, draft);
    return replace(context, current as DraftObject, copyJson(draft));
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const bytes = await updateObject(server, context, { mode: 'user', transform });
      return renderObject(kind, call, bytes, 200, server.now());
    } catch (error) {
      const creates = kind.createdByUpdate === true && context.subresource === '';
      if (!creates || attempt === ATTEMPTS || !ApiError.is(error, 'NotFound')) throw error;
    }
    call.demand('create');
    try {
      const bytes = await createObject(server, context, asNew(context, copyJson(draft)));
      return renderObject(kind, call, bytes, 201, server.now());
    } catch (error) {
      // Somebody else has made it meanwhile.
      if (!ApiError.is(error, 'AlreadyExists')) throw error;
    }
  }
}

function requireVersion({ kind, name }: WriteContext, draft: DraftObject): void {
  const version = draft.metadata?.resourceVersion ?? '';
  if (kind.needsResourceVersion !== true || (version !== '' && version !== '0')) return;
  throw invalid({ group: kind.type.group, kind: kind.type.resource }, name, [
    {
      field: 'metadata.resourceVersion',
      reason: 'FieldValueInvalid',
      message: 'Invalid value: 0: must be specified for an update',
    },
  ]);
}

function asNew({ kind, name }: WriteContext, draft: DraftObject): DraftObject {
  const { resourceVersion: _, uid, ...metadata } = draft.metadata ?? {};
  if ((uid ?? '') !== '') throw notFound(kind.type, name);
  return { ...draft, metadata: { ...metadata, name } };
}

/** What a client's version of the whole object may change: everything, or with /status and its parts that and what its kind lets go with it. */
export function replace(
  { kind, subresource }: WriteContext,
  current: DraftObject,
  wanted: DraftObject,
): DraftObject {
  if (subresource === '') return wanted;
  const { resourceVersion, uid } = wanted.metadata ?? {};
  if (kind.custom !== undefined) {
    const { status: _, ...rest } = current;
    const metadata = { ...current.metadata, resourceVersion, uid };
    return { ...rest, metadata, ...(wanted.status === undefined ? {} : { status: wanted.status }) };
  }
  const sent = STATUS_METADATA.filter((field) => kind.statusKeeps?.includes(field) !== true);
  return {
    ...current,
    metadata: {
      ...current.metadata,
      resourceVersion,
      uid,
      ...Object.fromEntries(sent.map((field) => [field, wanted.metadata?.[field]])),
    },
    status: wanted.status ?? {},
  };
}

export function checkNames(context: WriteContext, draft: DraftObject): void {
  const name = draft.metadata?.name ?? '';
  if (name !== '' && name !== context.name) {
    const message = `the name of the object (${name}) does not match the name on the URL (${context.name})`;
    throw statusError('BadRequest', message);
  }
  checkNamespace(context, draft);
}

function checkNamespace({ kind, namespace }: WriteContext, draft: DraftObject): void {
  const sent = draft.metadata?.namespace ?? '';
  if (!kind.type.namespaced || sent === '' || sent === namespace) return;
  const message = `the namespace of the provided object does not match the namespace sent on the request`;
  throw statusError('BadRequest', message);
}

export async function removeObject(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  const { options, dryRun } = await readDeleteRequest(kind, call);
  const context = { ...writeContext(kind, call), dryRun };
  const deletion = await deleteObject(server, context, options);
  if (!deletion.removed) return renderObject(kind, call, deletion.bytes, 200, server.now());
  const { group } = formOf(kind, call).type;
  return jsonResponse(200, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: context.name,
      ...(group === '' ? {} : { group }),
      kind: kind.type.resource,
      uid: deletion.uid,
    },
  });
}

/** Each object on its own, as Kubernetes does: one that is gone by then is no failure. Many at a time share a commit. */
export async function removeCollection(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  const { options, dryRun } = await readDeleteRequest(kind, call);
  const context = { ...writeContext(kind, call), dryRun };
  const { namespace } = context;
  const page = await listShown(server, kind, { namespace, query: call.query, caller: callerOf(call) });
  // Their names alone: what is answered is read again, as it was.
  const names = await eachOf(page, ({ summary }) => summary.metadata ?? {});
  const waiting = names.values();
  const work = async () => {
    for (const { name = '', namespace = '' } of waiting) {
      try {
        await deleteObject(server, { ...context, name, namespace }, options);
      } catch (error) {
        if (!ApiError.is(error, 'NotFound')) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: DELETIONS_AT_ONCE }, work));
  return renderList(kind, call, page, server.now());
}

async function readDeleteRequest(kind: KindDefinition, call: Call) {
  const data = await readData(call);
  const body = data === undefined ? undefined : decodeOther<V1DeleteOptions>('V1DeleteOptions', data);
  const request = deleteRequest(body, call.query);
  const { warning } = kind.orphansByDefault ?? {};
  if (warning !== undefined && !namesPolicy(request.options)) call.warnings.push(warning);
  return request;
}
