// pods/proxy, services/proxy and nodes/proxy: a request passed to what an object stands for.
// Guarantees: only addresses of the cluster are reached: never this machine itself, nor link-local ones.

import { randomInt } from 'node:crypto';
import { isIP } from 'node:net';
import { SERVICE_NAME_LABEL } from '../../api/endpointSlice.js';
import type { V1EndpointSlice, V1Pod, V1Service } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { ENDPOINT_SLICES, PODS, SERVICES } from '../../api/resources.js';
import { statusError } from '../../api/status.js';
import { isType } from '../discovery/resources.js';
import type { ApiResponse } from '../exchange.js';
import { validateAdmission } from '../registry/admit.js';
import { listPrefix } from '../registry/keys.js';
import { readCurrent } from '../registry/readAndWrite.js';
import type { Call, ServerContext } from '../serverContext.js';
import { writeContext } from '../verbs/write.js';
import { type Forwarded, forward, type Target } from './forward.js';
import { askKubelet, kubeletOnNode, kubeletTarget } from './kubelet.js';
import { isUpgrade, prefixOf, slashMissing, withLinks } from './proxied.js';

export { isProxied } from '../discovery/resources.js';

export async function proxy(server: ServerContext, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const wanted = parseName(call.info.name);
  const context = { ...writeContext(kind, call), name: wanted.name };
  const held = await readCurrent(server, context);
  await validateAdmission(server, context, { operation: 'connect', old: held.parse() });
  const redirect = slashMissing(call);
  if (redirect !== undefined) return redirect;
  const sent = await requestOf(call);
  if (isType(kind.type, PODS)) return passOn(call, podTarget(held.parse<V1Pod>(), wanted), sent);
  if (isType(kind.type, SERVICES)) {
    return passOn(call, serviceTarget(server, held.parse<V1Service>(), wanted), sent);
  }
  const address = kubeletOnNode(server, wanted.name);
  if (wanted.port === '' || Number(wanted.port) === address.port) {
    return changed(call, address, await askKubelet(server, address, sent));
  }
  const { host, what, reach } = kubeletTarget(server, address);
  const target = { host, what, reach, port: portNumber(wanted.port) };
  return passOn(call, { ...target, ...tlsFor(wanted.scheme) }, sent);
}

async function passOn(call: Call, target: Target, sent: Forwarded): Promise<ApiResponse> {
  return changed(call, target, await forward({ ...target, isProxied: true }, sent));
}

function changed(call: Call, { host, port }: Pick<Target, 'host' | 'port'>, answer: ApiResponse) {
  const server = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const rules = { prefix: prefixOf(call), server, here: call.request.headers['host'] ?? '' };
  return withLinks(answer, { method: call.request.method, rules });
}

interface Wanted {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

/** `name`, `name:port` or `scheme:name:port`, where the port may be left empty. */
function parseName(text: string): Wanted {
  const parts = text.split(':');
  const [scheme = '', name = '', port = ''] =
    parts.length === 1 ? ['', parts[0], ''] : parts.length === 2 ? ['', ...parts] : parts;
  if (parts.length > 3 || name === '' || !['', 'http', 'https'].includes(scheme)) {
    throw statusError('BadRequest', `invalid proxy request ${JSON.stringify(text)}`);
  }
  return { scheme, name, port };
}

function podTarget(pod: V1Pod, { scheme, name, port }: Wanted): Target {
  const declared = (pod.spec?.containers ?? []).flatMap(({ ports }) => ports ?? []);
  const number = port === '' ? (declared[0]?.containerPort ?? 80) : portNumber(port);
  const host = pod.status?.podIP ?? '';
  return { host: ipOf(host), port: number, what: `pod "${name}"`, ...tlsFor(scheme) };
}

function serviceTarget(server: ServerContext, service: V1Service, { scheme, name, port }: Wanted): Target {
  const ports = service.spec?.ports ?? [];
  const [only] = ports;
  const chosen =
    port === '' && ports.length === 1
      ? only
      : ports.find((one) => one.name === port || String(one.port) === port);
  const found = chosen === undefined ? [] : readyAddresses(server, service, chosen.name ?? '');
  const one = found[found.length === 0 ? 0 : randomInt(found.length)];
  if (one === undefined) {
    throw statusError('ServiceUnavailable', `no endpoints available for service ${JSON.stringify(name)}`);
  }
  return { ...one, host: ipOf(one.host), what: `service "${name}"`, ...tlsFor(scheme) };
}

/** Ready endpoints of that port of the service. */
export function readyAddresses(
  { feed, kinds }: Pick<ServerContext, 'feed' | 'kinds'>,
  service: V1Service,
  portName: string,
) {
  const kind = kinds.find(({ type }) => isType(type, ENDPOINT_SLICES));
  if (kind === undefined) return [];
  const found: { readonly host: string; readonly port: number }[] = [];
  for (const held of feed.cacheOf(kind).range(listPrefix(kind.type, service.metadata?.namespace ?? ''))) {
    if (held.summary.labels[SERVICE_NAME_LABEL] !== service.metadata?.name) continue;
    const { endpoints, ports } = held.parse<V1EndpointSlice>();
    const port = (ports ?? []).find(({ name }) => (name ?? '') === portName)?.port;
    if (port === undefined) continue;
    for (const { addresses, conditions } of endpoints ?? []) {
      if (conditions?.ready === false) continue;
      found.push(...addresses.map((host) => ({ host, port })));
    }
  }
  return found;
}

/** What a pod or service serves over TLS has no authority that we know. */
const tlsFor = (scheme: string) => (scheme === 'https' ? { tls: {} } : {});

function portNumber(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw statusError('BadRequest', `invalid port ${JSON.stringify(text)}`);
}

/** An object's status is written by nodes; a name in it could mean anything. */
function ipOf(host: string): string {
  if (isIP(host) === 0) throw statusError('BadRequest', 'address not allowed');
  return host;
}

async function requestOf(call: Call): Promise<Forwarded> {
  const { info, request } = call;
  const upgrade = isUpgrade(request);
  const hasBody = !upgrade && !['GET', 'HEAD'].includes(request.method);
  return {
    method: request.method,
    path: pathBehind(request.url, info.rest.length),
    headers: { ...request.headers, 'x-forwarded-uri': request.url.split('?')[0] },
    signal: request.signal,
    upgrade,
    ...(hasBody ? { body: await request.body() } : {}),
  };
}

/** What follows /proxy, as sent, with its query. */
function pathBehind(url: string, segments: number): string {
  const [path = '', ...query] = url.split('?');
  const parts = path.split('/').filter((part) => part !== '');
  const behind = segments === 0 ? [] : parts.slice(-segments);
  const slash = behind.length > 0 && path.endsWith('/') ? '/' : '';
  return `/${behind.join('/')}${slash}${query.length === 0 ? '' : `?${query.join('?')}`}`;
}
