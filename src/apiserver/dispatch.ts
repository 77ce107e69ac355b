// Sends a resource request to its verb or subresource.
// Guarantees: only what discovery lists is reached; the rest is 404 or 405 in Kubernetes' words.

import type { KindDefinition, KindVersion } from '../api/kind.js';
import { componentStatusKind } from '../api/kinds/componentStatus.js';
import { apiVersionOf, BINDINGS, COMPONENT_STATUSES, PODS, type ResourceType } from '../api/resources.js';
import { notFound, statusError } from '../api/status.js';
import { componentStatusHandler } from './componentStatuses.js';
import { isType } from './discovery/resources.js';
import { type ApiResponse, jsonResponse } from './exchange.js';
import { negotiateText, PROTOBUF_TYPE, requireObject } from './output/negotiate.js';
import { readCurrent } from './registry/readAndWrite.js';
import type { Call, MeasuredResource, ServerContext, VirtualResource } from './serverContext.js';
import { bind, bindByBody } from './subresources/binding.js';
import { connectPod } from './subresources/connect.js';
import { ephemeralContainers } from './subresources/ephemeralContainers.js';
import { evict } from './subresources/eviction.js';
import { finalizeNamespace } from './subresources/finalize.js';
import { podLog } from './subresources/log.js';
import { isProxied, proxy } from './subresources/proxy.js';
import { resize } from './subresources/resize.js';
import { scale } from './subresources/scale.js';
import { decodeOther, readData } from './verbs/body.js';
import { isDryRun } from './verbs/options.js';
import { patchObject } from './verbs/patch.js';
import { getList, getObject, getWatch } from './verbs/read.js';
import { storedQuery } from './verbs/served.js';
import { postObject, putObject, removeCollection, removeObject, writeContext } from './verbs/write.js';

type Answer = Promise<ApiResponse> | ApiResponse;
type Handler = (server: ServerContext, kind: KindDefinition, call: Call) => Answer;

const VERBS: Readonly<Record<string, Handler>> = {
  get: getObject,
  list: getList,
  watch: getWatch,
  create: postObject,
  update: putObject,
  patch: patchObject,
  delete: removeObject,
  deletecollection: removeCollection,
};

const STATUS_VERBS: Readonly<Record<string, Handler>> = {
  get: getObject,
  update: putObject,
  patch: patchObject,
};

/** The name of APISERVER_USER: its parts read what they judge by, whatever others are served. */
const OWN_USER = 'system:apiserver';
const CHANGE = new Set(['get', 'update', 'patch']);
const POD_CONNECTIONS = new Set(['exec', 'attach', 'portforward']);

export function dispatch(server: ServerContext, call: Call): Answer {
  if (!server.isServed(call.info) && call.user.name !== OWN_USER) throw noSuchResource();
  const found = server.served(call.info);
  if (found !== undefined) return dispatchKind(server, found.kind, servedCall(call, found.version));
  const { group, version, resource } = call.info;
  const isWanted = (type: ResourceType) =>
    type.group === group && type.version === version && type.resource === resource;
  if (isWanted(BINDINGS)) return createBinding(server, call);
  if (isWanted(COMPONENT_STATUSES)) return dispatchComponentStatus(server, call);
  const virtual = server.virtualResources.find(isWanted);
  if (virtual !== undefined) return createVirtual(virtual, call);
  const measured = server.measuredResources.find(isWanted);
  if (measured !== undefined) return readMeasured(measured, call);
  throw noSuchResource();
}

function servedCall(call: Call, version: KindVersion | undefined): Call {
  return version === undefined ? call : { ...call, served: version, query: storedQuery(version, call.query) };
}

function dispatchKind(server: ServerContext, kind: KindDefinition, call: Call): Answer {
  const { subresource, namespace, verb, name } = call.info;
  checkScope(kind, call);
  const handler = subresource === '' ? VERBS[verb] : subresourceHandler(server, kind, call);
  if (handler === undefined) throw notAllowed();
  const needsName = verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete';
  if (needsName && name === '') throw notAllowed();
  if (verb === 'create' && subresource === '' && name !== '') throw notAllowed();
  if (kind.type.namespaced && namespace === '' && (needsName || verb === 'create')) throw noSuchResource();
  // All of a kind in all namespaces can be listed and watched, and no more than that.
  const isAll = kind.type.namespaced ? namespace === '' : kind.deletedOneByOne === true;
  if (isAll && verb === 'deletecollection') throw notAllowed();
  if (kind.deprecation !== undefined) call.warnings.push(kind.deprecation);
  return handler(server, kind, kind.custom === undefined ? call : withoutProtobuf(call));
}

/** Only Kubernetes' own types have messages; metadata are of that kind. */
function withoutProtobuf(call: Call): Call {
  const { media, form } = call.negotiated;
  if (media !== PROTOBUF_TYPE || form === 'partial') return call;
  return { ...call, negotiated: negotiateText(call.request.headers['accept']) };
}

function checkScope(kind: KindDefinition, { info }: Call): void {
  const isNamespaceItself = info.resource === 'namespaces' && info.namespace === info.name;
  if (!kind.type.namespaced && info.namespace !== '' && !isNamespaceItself) throw noSuchResource();
}

function subresourceHandler(
  server: ServerContext,
  kind: KindDefinition,
  { info }: Call,
): Handler | undefined {
  const { subresource, verb } = info;
  const isPod = isType(kind.type, PODS);
  const isStatus = subresource === 'status' ? kind.hasStatus : kind.statusParts?.includes(subresource);
  if (isStatus === true) return STATUS_VERBS[verb];
  if (subresource === 'scale' && kind.scale !== undefined) return scale;
  if (isPod && subresource === 'binding') return verb === 'create' ? bind : undefined;
  if (isPod && subresource === 'eviction') return verb === 'create' ? evict : undefined;
  if (isPod && subresource === 'ephemeralcontainers')
    return CHANGE.has(verb) ? ephemeralContainers : undefined;
  if (isPod && subresource === 'resize') return CHANGE.has(verb) ? resize : undefined;
  if (isPod && subresource === 'log') return verb === 'get' ? podLog : undefined;
  if (isPod && POD_CONNECTIONS.has(subresource)) {
    return verb === 'get' || verb === 'create' ? connectPod : undefined;
  }
  if (subresource === 'proxy' && isProxied(kind.type)) return proxy;
  if (kind.type.resource === 'namespaces' && subresource === 'finalize') {
    return verb === 'update' ? finalizeNamespace : undefined;
  }
  const hook = server.subresourceHooks.find(
    (known) => isType(known.type, kind.type) && known.subresource === subresource,
  );
  if (hook === undefined) throw noSuchResource();
  return verb !== 'create'
    ? undefined
    : async (_server, _kind, call) => {
        const body = decodeOther(modelOf(hook.kind), (await readData(call)) ?? {});
        const held = await readCurrent(server, writeContext(kind, call));
        const context = { user: call.user, dryRun: isDryRun(call.query) };
        return jsonResponse(201, await hook.create(held.parse(), body as object, context));
      };
}

/** TokenRequest is the one whose model is named after its group. */
function modelOf({ group, version, kind }: { group: string; version: string; kind: string }): string {
  const prefix = kind === 'TokenRequest' && group === 'authentication.k8s.io' ? 'Authentication' : '';
  return `${prefix}${version.replace(/^v/, 'V')}${kind}`;
}

function createBinding(server: ServerContext, call: Call): Promise<ApiResponse> {
  const { verb, name, namespace, subresource } = call.info;
  const pods = server.kinds.find(({ type }) => isType(type, PODS));
  if (namespace === '' || pods === undefined) throw noSuchResource();
  if (verb !== 'create' || name !== '' || subresource !== '') throw notAllowed();
  return bindByBody(server, pods, call);
}

function dispatchComponentStatus(server: ServerContext, call: Call): Promise<ApiResponse> {
  const { verb, namespace, subresource } = call.info;
  if (namespace !== '' || subresource !== '') throw noSuchResource();
  const handler = componentStatusHandler(verb);
  if (handler === undefined) throw notAllowed();
  call.warnings.push(componentStatusKind.deprecation ?? '');
  return handler(server, call);
}

async function createVirtual(resource: VirtualResource, call: Call): Promise<ApiResponse> {
  const { verb, name, namespace, subresource } = call.info;
  if (verb !== 'create' || name !== '' || subresource !== '') throw notAllowed();
  if (resource.namespaced !== (namespace !== '')) throw noSuchResource();
  requireObject(call.request.headers['accept']);
  const body = await readData(call);
  return jsonResponse(201, await resource.answer(body, { user: call.user, namespace }));
}

async function readMeasured(resource: MeasuredResource, call: Call): Promise<ApiResponse> {
  const { verb, name, namespace, subresource } = call.info;
  if (subresource !== '' || (verb !== 'get' && verb !== 'list')) throw notAllowed();
  if (!resource.namespaced && namespace !== '') throw noSuchResource();
  const { kind } = resource;
  const apiVersion = apiVersionOf(resource);
  if (verb === 'list') {
    const items = await resource.list(namespace, call.query);
    return jsonResponse(200, { kind: `${kind}List`, apiVersion, metadata: {}, items });
  }
  const [found] = await resource.list(
    namespace,
    new URLSearchParams({ fieldSelector: `metadata.name=${name}` }),
  );
  if (found === undefined) throw notFound(resource, name);
  return jsonResponse(200, { kind, apiVersion, ...found });
}

const noSuchResource = () => statusError('NotFound', 'the server could not find the requested resource', {});

const notAllowed = () =>
  statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
