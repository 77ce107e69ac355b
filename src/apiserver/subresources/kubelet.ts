// Where the kubelet of a pod answers, and the connection to it.
// Guarantees: the kubelet is reached over TLS with the apiserver's own certificate; the client's credentials stay here.
import type http from 'node:http';
import https from 'node:https';
import type { V1Node, V1Pod } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { NODES } from '../../api/resources.js';
import { statusError } from '../../api/status.js';
import { isType } from '../discovery/resources.js';
import type { ApiResponse } from '../exchange.js';
import type { Machinery } from '../machinery.js';
import { objectKey } from '../registry/keys.js';

const KUBELET_PORT = 10250;
// Of the connection itself (RFC 9110, 7.6.1), or for us alone: none of these travels on.
const OWN_HEADERS = new Set(['authorization', 'host', 'keep-alive', 'transfer-encoding', 'te', 'trailer']);

export interface KubeletAddress {
  readonly host: string;
  readonly port: number;
  readonly node: string;
}

export function kubeletOf(machinery: Machinery, pod: V1Pod): KubeletAddress {
  const node = pod.spec?.nodeName ?? '';
  if (node === '') {
    throw statusError('BadRequest', `pod ${pod.metadata?.name ?? ''} does not have a host assigned`);
  }
  const kind = machinery.kinds.find(({ type }) => isType(type, NODES)) as KindDefinition;
  const held = machinery.feed.cacheOf(kind).get(objectKey(NODES, '', node));
  if (held === undefined)
    throw statusError('NotFound', `nodes "${node}" not found`, { kind: 'nodes', name: node });
  const { status } = held.parse<V1Node>();
  const addresses = status?.addresses ?? [];
  const address =
    addresses.find(({ type }) => type === 'InternalIP') ?? addresses.find(({ type }) => type === 'Hostname');
  if (address === undefined) {
    throw statusError(
      'InternalError',
      `no preferred addresses found for node "${node}"; known addresses: []`,
    );
  }
  return {
    host: address.address,
    port: status?.daemonEndpoints?.kubeletEndpoint?.Port ?? KUBELET_PORT,
    node,
  };
}

export interface KubeletRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly upgrade: boolean;
}

/** The kubelet's answer, streamed; with `upgrade`, a tunnel if the kubelet agrees to switch protocols. */
export function askKubelet(
  { kubelet }: Machinery,
  { host, port, node }: KubeletAddress,
  { method, path, headers, signal, upgrade }: KubeletRequest,
): Promise<ApiResponse> {
  if (kubelet === undefined) {
    throw statusError('ServiceUnavailable', 'this server was started without a certificate for kubelets');
  }
  return new Promise((resolve, reject) => {
    const request = https.request({
      host,
      port,
      method,
      path,
      headers: headersFor(headers, upgrade),
      cert: kubelet.cert,
      key: kubelet.key,
      ca: kubelet.ca,
      agent: false,
      signal,
    });
    request.once('upgrade', (response, socket, head) =>
      resolve({
        status: 101,
        headers: flatten(response.headers),
        body: Buffer.alloc(0),
        tunnel: { socket, head },
      }),
    );
    request.once('response', (response) =>
      resolve({
        status: response.statusCode ?? 502,
        headers: flatten(response.headers, OWN_HEADERS),
        body: response,
      }),
    );
    request.once('error', (cause) =>
      reject(
        statusError('InternalError', `error dialing backend of node "${node}": ${cause.message}`, undefined, {
          cause,
        }),
      ),
    );
    request.end();
  });
}

function headersFor(headers: KubeletRequest['headers'], upgrade: boolean): http.OutgoingHttpHeaders {
  const sent: http.OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    const isOfConnection = name === 'connection' || name === 'upgrade' || name === 'content-length';
    if (value === undefined || OWN_HEADERS.has(name) || name.startsWith('impersonate-')) continue;
    if (isOfConnection && !upgrade) continue;
    if (name === 'accept-encoding') continue;
    sent[name] = value;
  }
  // An upgrade has no body: a chunk that says so would stand where the stream's first bytes belong.
  if (upgrade) sent['content-length'] = '0';
  return sent;
}

function flatten(
  headers: http.IncomingHttpHeaders,
  without: ReadonlySet<string> = new Set(),
): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || without.has(name) || (without.size > 0 && name === 'connection')) continue;
    flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}
