// PATCH with an apply configuration: the object is made when it is not there, else the configuration is merged into it.
// Guarantees: another manager's fields are changed only by force; making an object needs the right to create it.
import { jsonObstacle, maxValuesOf } from '../../api/bodyBounds.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { copyJson } from '../../api/ownKeys.js';
import { ApiError, conflict, notFound, statusError } from '../../api/status.js';
import type { ApiResponse } from '../exchange.js';
import { keyFault } from '../fields/keyFault.js';
import type { Writer } from '../fields/track.js';
import { applyAcross } from '../fields/versions.js';
import { renderObject } from '../output/render.js';
import { turn, type WriteContext } from '../registry/admit.js';
import { versionsOf } from '../registry/conversion.js';
import { createObject } from '../registry/create.js';
import { objectKey } from '../registry/keys.js';
import { type DraftObject, metaOf } from '../registry/metadata.js';
import { type Pause, updateObject } from '../registry/update.js';
import { isTrue } from '../requestInfo.js';
import { type Call, type ServerContext, timestamp } from '../serverContext.js';
import {
  decodeAs,
  decodeUtf8,
  duplicatesIn,
  mediaTypeOf,
  parseJson,
  type ReadBody,
  readYaml,
  refuseInexact,
} from './body.js';
import { namedManager, optionsError } from './fieldManager.js';
import { checkNames, writeContext } from './write.js';

export const APPLY_TYPE = 'application/apply-patch+yaml';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const ATTEMPTS = 5;

export async function applyObject(
  server: ServerContext,
  kind: KindDefinition,
  call: Call,
): Promise<ApiResponse> {
  const context = writeContext(kind, call);
  const writer = writerOf(server, context, call);
  const config = await readConfiguration(kind, call, context);
  const force = isForced(call);
  const versions = versionsOf(context);
  const applied = async (live: KubeObject | undefined, pause: Pause) => {
    const part = forPart(kind, context, config);
    const application = await applyAcross({ kind, live, config: part, writer, force }, versions, pause);
    await pause();
    const draft = copyJson(application.object) as DraftObject;
    metaOf(draft).managedFields = application.managedFields;
    if (writer.id.name === 'kubectl') refreshLastApplied(draft, config);
    return draft;
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { bytes, status } = await write(server, context, call, applied);
      return renderObject(kind, call, bytes, status, server.now());
    } catch (error) {
      // It came, or went, between the look and the write.
      if (attempt === ATTEMPTS || !ApiError.is(error, 'AlreadyExists', 'NotFound')) throw error;
      if (ApiError.is(error, 'NotFound') && context.subresource !== '') throw error;
    }
  }
}

async function write(
  server: ServerContext,
  context: WriteContext,
  call: Call,
  applied: (live: KubeObject | undefined, pause: Pause) => Promise<DraftObject>,
): Promise<{ bytes: Buffer; status: number }> {
  const { kind, namespace, name } = context;
  await server.feed.current();
  if (server.feed.cacheOf(kind).get(objectKey(kind.type, namespace, name)) !== undefined) {
    const options = { mode: 'user', isPure: true, tracked: true, transform: applied } as const;
    return { bytes: await updateObject(server, context, options), status: 200 };
  }
  if (context.subresource !== '') throw notFound(kind.type, name);
  call.demand('create');
  const draft = await applied(undefined, () => turn(context));
  if ((draft.metadata?.uid ?? '') !== '') {
    throw conflict(
      kind.type,
      name,
      'uid mismatch: the provided object specified uid, and no existing object was found',
    );
  }
  const managedFields = draft.metadata?.managedFields ?? [];
  return { bytes: await createObject(server, context, draft, { managedFields }), status: 201 };
}

export function isForced({ query }: Call): boolean {
  return query.has('force') && isTrue(query.get('force'));
}

export function isApply({ request }: Call): boolean {
  return mediaTypeOf(request.headers['content-type']) === APPLY_TYPE;
}

export function writerOf(server: ServerContext, { manager }: WriteContext, call: Call): Writer {
  const name = namedManager(call);
  if (name === '') {
    throw optionsError('patch', 'FieldValueRequired', 'Required value: is required for apply patch');
  }
  return { id: { ...manager, name, operation: 'Apply' }, time: timestamp(server.now()) };
}

export async function readConfiguration(
  kind: KindDefinition,
  call: Call,
  context: WriteContext,
): Promise<DraftObject> {
  const body = await readApplyBody(call);
  await turn(context);
  const duplicates = duplicatesIn(call, body);
  await turn(context);
  refuseInexact(kind, body);
  const config = decodeAs(call, kind, body.data, {
    duplicates,
    keepsEmpty: true,
    strictError: (_, undeclared, doubled) => strictApplyError(kind, context, undeclared, doubled),
  });
  if (config.metadata?.managedFields !== undefined) {
    throw statusError('BadRequest', 'metadata.managedFields must be nil');
  }
  checkNames(context, config);
  await turn(context);
  const meta = metaOf(config);
  meta.name = context.name;
  if (kind.type.namespaced) meta.namespace = context.namespace;
  const fault = keyFault(kind, config);
  if (fault !== undefined) throw statusError('BadRequest', `failed to create typed patch object: ${fault}`);
  return config;
}

/** What the schema does not declare is no part of a typed object; what is written twice is found behind that. */
function strictApplyError(
  { type: { group, version, kind } }: KindDefinition,
  { namespace, name }: WriteContext,
  undeclared: readonly string[],
  doubled: readonly string[] = [],
): ApiError {
  const faults = undeclared.map((path) => `.${path}: field not declared in schema`);
  if (faults.length === 0)
    return statusError('BadRequest', `error strict decoding YAML: ${doubled.join(', ')}`);
  const text = faults.length === 1 ? faults[0] : `errors:\n  ${faults.join('\n  ')}`;
  const object = `${namespace}/${name}; ${group}/${version}, Kind=${kind}`;
  return statusError('BadRequest', `failed to create typed patch object (${object}): ${text}`);
}

/** The body as data, and its text when it was JSON. */
export async function readApplyBody(call: Call): Promise<ReadBody> {
  const bytes = await call.request.body();
  // JSON is YAML too, but far quicker to read as what it is. What only begins like it may still be YAML.
  if (bytes[0] === 0x7b) {
    try {
      return parseJson(call, bytes);
    } catch (error) {
      if (jsonObstacle(bytes, maxValuesOf(call.info.resource)) !== undefined) throw error;
    }
  }
  return readYaml(call, decodeUtf8(bytes));
}

/** The object without its status, or the status alone: each is applied by its own path. */
function forPart(kind: KindDefinition, { subresource }: WriteContext, config: DraftObject): DraftObject {
  if (subresource !== '') {
    const { apiVersion, kind: name, metadata, status } = config;
    const { name: own, namespace, uid, resourceVersion } = metadata ?? {};
    const meta = {
      name: own,
      namespace,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    return { apiVersion, kind: name, metadata: meta, ...(status === undefined ? {} : { status }) };
  }
  if (!kind.hasStatus) return config;
  const { status: _, ...rest } = config;
  return rest;
}

/** kubectl may come back to client-side apply: its record of what was applied must not grow old. */
function refreshLastApplied(draft: DraftObject, config: DraftObject): void {
  const { annotations } = metaOf(draft);
  if (annotations === undefined || !Object.hasOwn(annotations, LAST_APPLIED)) return;
  annotations[LAST_APPLIED] = `${JSON.stringify(config)}\n`;
}
