// The transport over HTTPS (or HTTP): kept-alive connections, client certificate or bearer token, streamed bodies.
// Guarantees: every failure names the server; an aborted signal rejects a waiting request and ends a streamed body.
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { messageOf } from '../base/errorMessage.js';
import { ClientError } from './error.js';
import type { Transport, TransportRequest, TransportResponse } from './transport.js';

export interface HttpsOptions {
  /** Such as `https://127.0.0.1:6443`; a path in it is put before every request's path. */
  readonly server: string;
  /** PEM. The system's authorities when absent. */
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly token?: string;
  /** Read again every minute, since mounted tokens are rotated. Comes before `token`. */
  readonly tokenFile?: string;
  /** The name to expect in the server's certificate instead of the host's. */
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly userAgent?: string;
}

const TOKEN_LIFE_MS = 60_000;
/** Connections kept for later: a burst of requests must not leave hundreds behind, nor a quiet hour any. */
const KEPT = { keepAlive: true, maxFreeSockets: 64, timeout: 90_000 } as const;

export function openHttps(options: HttpsOptions): Transport {
  const base = serverUrl(options.server);
  const secure = base.protocol === 'https:';
  const agent = secure ? new https.Agent(tlsOptions(options)) : new http.Agent(KEPT);
  const prefix = base.pathname.replace(/\/+$/, '');
  const token = tokenSource(options);
  const send = secure ? https.request : http.request;
  let closed = false;

  const request = async (wanted: TransportRequest): Promise<TransportResponse> => {
    if (closed) throw new ClientError('CLOSED', `the connection to ${base.origin} is closed`);
    const bearer = await token();
    return new Promise((resolve, reject) => {
      const { signal, body } = wanted;
      if (signal?.aborted === true) return reject(aborted(base));
      const outgoing = send({
        agent,
        host: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port === '' ? (secure ? 443 : 80) : Number(base.port),
        method: wanted.method,
        path: prefix + wanted.path,
        headers: headersOf(options, wanted, bearer, base),
      });
      const abort = () => outgoing.destroy(aborted(base));
      signal?.addEventListener('abort', abort, { once: true });
      outgoing.once('close', () => signal?.removeEventListener('abort', abort));
      // Kept for the whole life of the request: an error after the answer has begun reaches the body as well.
      outgoing.on('error', (error) => reject(unreachable(base, error)));
      outgoing.once('response', (incoming) =>
        resolve({
          status: incoming.statusCode ?? 0,
          headers: flatten(incoming.headers),
          body: bodyOf(incoming, base, signal),
        }),
      );
      outgoing.end(body);
    });
  };
  return {
    request,
    close() {
      closed = true;
      agent.destroy();
    },
  };
}

function serverUrl(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new ClientError(
      'CONFIG',
      `"${server}" is not the address of an apiserver; write https://host:port`,
    );
  }
  return url;
}

function tlsOptions({
  ca,
  cert,
  key,
  tlsServerName,
  insecureSkipTlsVerify,
}: HttpsOptions): https.AgentOptions {
  return {
    ...KEPT,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: insecureSkipTlsVerify !== true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
  };
}

function headersOf(
  { userAgent = 'trellis' }: HttpsOptions,
  { headers, body }: TransportRequest,
  bearer: string | undefined,
  base: URL,
): http.OutgoingHttpHeaders {
  return {
    host: base.host,
    'user-agent': userAgent,
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    ...headers,
    ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
  };
}

function tokenSource({ token, tokenFile }: HttpsOptions): () => Promise<string | undefined> {
  if (tokenFile === undefined) return async () => token;
  let read: { readonly token: string; readonly at: number } | undefined;
  return async () => {
    if (read !== undefined && Date.now() - read.at < TOKEN_LIFE_MS) return read.token;
    try {
      read = { token: (await readFile(tokenFile, 'utf8')).trim(), at: Date.now() };
    } catch (cause) {
      // A token that was good a minute ago is better than none while the file is being replaced.
      if (read === undefined) {
        throw new ClientError('CONFIG', `cannot read the token file ${tokenFile}: ${messageOf(cause)}`, {
          cause,
        });
      }
    }
    return read.token;
  };
}

function flatten(headers: http.IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

async function* bodyOf(incoming: http.IncomingMessage, base: URL, signal: AbortSignal | undefined) {
  try {
    for await (const chunk of incoming) yield chunk as Uint8Array;
  } catch (error) {
    if (signal?.aborted === true) return;
    throw unreachable(base, error);
  }
}

function aborted(base: URL): ClientError {
  return new ClientError('ABORTED', `the request to ${base.origin} was given up`);
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'no answer in time',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'the network is unreachable',
  ENOTFOUND: 'the name does not resolve',
  EAI_AGAIN: 'the name server did not answer',
};

function unreachable(base: URL, cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause;
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const why = WORDS[code] ?? messageOf(cause);
  return new ClientError('UNREACHABLE', `cannot reach the apiserver at ${base.origin}: ${why}`, { cause });
}
