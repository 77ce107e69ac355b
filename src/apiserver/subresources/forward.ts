// One request passed on to a kubelet, a pod or a service, and its answer passed back.
// Guarantees: the client's credentials for this server never travel on; what belongs to one connection stays on it.
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { statusError } from '../../api/status.js';
import type { ApiResponse } from '../exchange.js';
import { AddressRefused, type Reach, reachableLookup, requireReachable } from './reach.js';

// Of the connection itself (RFC 9110, 7.6.1), or for us alone: none of these travels on.
const OWN_HEADERS = new Set(['authorization', 'host', 'keep-alive', 'transfer-encoding', 'te', 'trailer']);

export interface Target {
  readonly host: string;
  readonly port: number;
  /** Named in the sentence that tells of a failure. */
  readonly what: string;
  /** What else is refused, or allowed, of where the address leads. */
  readonly reach?: Reach;
  /** Set for what is no part of the cluster itself: that it cannot be reached is then no fault of ours. */
  readonly isProxied?: boolean;
  /** Absent: plain HTTP. Certificates are checked when there is an authority to check them by. */
  readonly tls?: {
    readonly cert?: string | Buffer;
    readonly key?: string | Buffer;
    readonly ca?: string | Buffer;
  };
}

export interface Forwarded {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly upgrade: boolean;
  readonly body?: Buffer;
}

/** The answer, streamed; with `upgrade`, a tunnel if the other side agrees to switch protocols. */
export function forward(target: Target, sent: Forwarded): Promise<ApiResponse> {
  return pass(target, sent).catch((error: unknown) => {
    if (error instanceof AddressRefused) throw statusError('BadRequest', error.message);
    throw error;
  });
}

function pass(target: Target, sent: Forwarded): Promise<ApiResponse> {
  const { host, port, tls, what } = target;
  const { method, path, signal, body } = sent;
  const asked = { host, port, method, path, headers: headersFor(sent), signal };
  // Small servers end their lines without a carriage return; Kubernetes reads that.
  const options = {
    ...{ ...asked, agent: false as const, insecureHTTPParser: true },
    lookup: reachableLookup(port, target.reach),
  };
  return new Promise((resolve, reject) => {
    // An address is connected to as it is, without the lookup.
    if (isIP(host) !== 0) requireReachable(host, port, target.reach);
    const request =
      tls === undefined
        ? http.request(options)
        : https.request({ ...options, ...tls, rejectUnauthorized: tls.ca !== undefined });
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
    request.once('error', (cause) => {
      if (cause instanceof AddressRefused) return reject(cause);
      const [reason, message] =
        target.isProxied === true
          ? (['ServiceUnavailable', `error trying to reach service: ${cause.message}`] as const)
          : (['InternalError', `error dialing backend of ${what}: ${cause.message}`] as const);
      reject(statusError(reason, message, undefined, { cause }));
    });
    request.end(body);
  });
}

function headersFor({ headers, upgrade, body }: Forwarded): http.OutgoingHttpHeaders {
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
  else if (body !== undefined) sent['content-length'] = body.length;
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
