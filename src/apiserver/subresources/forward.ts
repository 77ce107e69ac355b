// One request passed on to a kubelet, a pod or a service, and its answer passed back.
// Guarantees: the client's credentials for this server never travel on; what belongs to one connection stays on it; an
// answer whose end could be read in two ways is none.
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { type ApiError, statusError } from '../../api/status.js';
import type { ApiResponse } from '../exchange.js';
import { PROTOCOLS, withoutBearer } from '../http/webSocketToken.js';
import { AddressRefused, type Reach, reachableLookup, requireReachable } from './addressGuard.js';

/** Of the connection itself (RFC 9110, 7.6.1), besides what its Connection header names. */
const OF_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
]);
/** For us alone, or made anew. */
const OWN_HEADERS = new Set(['authorization', 'host', 'content-length', 'accept-encoding']);

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
  const { host, port, tls } = target;
  const { method, path, signal, body } = sent;
  const asked = { host, port, method, path, headers: headersFor(sent), signal };
  const options = { ...asked, agent: false as const, lookup: reachableLookup(port, target.reach) };
  return new Promise((resolve, reject) => {
    // An address is connected to as it is, without the lookup.
    if (isIP(host) !== 0) requireReachable(host, port, target.reach);
    const request =
      tls === undefined
        ? http.request(options)
        : https.request({ ...options, ...tls, rejectUnauthorized: tls.ca !== undefined });
    request.once('upgrade', (response, socket, head) => {
      if (sent.upgrade) {
        const headers = flatten(response.headers, new Set());
        return resolve({ status: 101, headers, body: Buffer.alloc(0), tunnel: { socket, head } });
      }
      // Who did not ask for another protocol would take what follows for further answers.
      socket.destroy();
      reject(unreachable(target, new Error('it switched protocols without being asked to')));
    });
    request.once('response', (response) =>
      resolve({
        status: response.statusCode ?? 502,
        headers: flatten(response.headers, ofConnection(response.headers.connection)),
        body: response,
      }),
    );
    request.once('error', (cause) =>
      reject(cause instanceof AddressRefused ? cause : unreachable(target, cause)),
    );
    request.end(body);
  });
}

function unreachable({ what, isProxied = false }: Target, cause: Error): ApiError {
  const [reason, message] = isProxied
    ? (['ServiceUnavailable', `error trying to reach service: ${cause.message}`] as const)
    : (['InternalError', `error dialing backend of ${what}: ${cause.message}`] as const);
  return statusError(reason, message, undefined, { cause });
}

function headersFor({ headers, upgrade, body }: Forwarded): http.OutgoingHttpHeaders {
  const sent: http.OutgoingHttpHeaders = {};
  const stays = ofConnection(headers['connection']);
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || stays.has(name) || OWN_HEADERS.has(name) || name.startsWith('impersonate-'))
      continue;
    sent[name] = name === PROTOCOLS ? withoutBearer(value) : value;
  }
  // An upgrade has no body: a chunk that says so would stand where the stream's first bytes belong.
  if (upgrade) return { ...sent, connection: 'Upgrade', upgrade: headers['upgrade'], 'content-length': '0' };
  return body === undefined ? sent : { ...sent, 'content-length': body.length };
}

function ofConnection(named: string | undefined): ReadonlySet<string> {
  const names = (named ?? '').split(',').map((name) => name.trim().toLowerCase());
  return new Set([...OF_CONNECTION, ...names]);
}

function flatten(headers: http.IncomingHttpHeaders, without: ReadonlySet<string>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || without.has(name)) continue;
    flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}
