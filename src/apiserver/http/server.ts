// The HTTPS side: sockets and node:http in, requests of the common path out, answers written back.
// Guarantees: bodies, headers and times are bounded; a client that does not read stops being written to.
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Log } from '../../api/log.js';
import { statusError } from '../../api/status.js';
import { type ApiRequest, type ApiResponse, type Body, jsonResponse } from '../exchange.js';
import type { Handler } from '../handler.js';
import type { Credentials, UserInfo } from '../identity.js';
import { joinTunnel, refuseUpgrade } from './tunnel.js';

export interface TlsFiles {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Client certificates of this authority are believed; others are as if none was sent. */
  readonly clientCa?: string | Buffer;
}

export interface HttpsServerOptions {
  readonly tls: TlsFiles;
  readonly handler: Handler;
  readonly log: Log;
}

const MAX_BODY = 3 * 1024 * 1024;
const MAX_HEADERS = 64 * 1024;
const GZIP_FROM = 128 * 1024;
/** Few large writes: each is a call, a wait and a memory copy into TLS; but no list is ever in memory twice as a whole. */
const WRITE_CHUNK = 512 * 1024;
/** Nothing of an answer could be sent for so long: the client is stuck, or never meant to read. */
const STALL_MS = 60_000;
const LINGER_MS = 1000;

const UNREADABLE: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, `the request's head is larger than ${MAX_HEADERS} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time'],
};

const CONNECTION = {
  maxHeaderSize: MAX_HEADERS,
  headersTimeout: 30_000,
  // Kubernetes' own patience with a request.
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 90_000,
  noDelay: true,
  // The kernel finds peers that vanished without a word, in two to three minutes.
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
};

export function createHttpsServer({ tls, handler, log }: HttpsServerOptions): https.Server {
  const server = https.createServer({
    ...CONNECTION,
    cert: tls.cert,
    key: tls.key,
    ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa }),
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: 30_000,
  });
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on('secureConnection', readThroughStream);
  return answering(server, handler, log);
}

/**
 * Node's parser reads TLS past the stream, and there a pause comes too late: a request that arrives while the answer
 * before it still drains is taken for a broken one, and the connection reset. Whoever listens to the data, if only for a
 * moment, has it read through the stream, which keeps what comes during a pause.
 */
function readThroughStream(socket: TLSSocket): void {
  const listener = () => {};
  socket.on('data', listener).off('data', listener);
}

/** Plain HTTP, where everybody is `user`: for loopback only. */
export function createInsecureServer(options: {
  readonly handler: Handler;
  readonly user: UserInfo;
  readonly log: Log;
}): http.Server {
  const { handler, user, log } = options;
  // Not a copy: what a request has, such as its signal, is made when it is asked for.
  const asUser = (request: ApiRequest): ApiRequest => Object.create(request, { user: { value: user } });
  return answering(http.createServer(CONNECTION), (request) => handler(asUser(request)), log);
}

function answering<T extends http.Server | https.Server>(server: T, handler: Handler, log: Log): T {
  server.on('request', (incoming: http.IncomingMessage, outgoing: http.ServerResponse) => {
    serve(handler, incoming, outgoing).catch((error: Error) => {
      log.debug('a connection broke while it was answered', { error: error.message });
      outgoing.destroy();
    });
  });
  server.on('upgrade', (incoming: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    upgrade(handler, incoming, socket, head).catch((error: Error) => {
      log.debug('an upgraded connection broke', { error: error.message });
      socket.destroy();
    });
  });
  const refused = new WeakSet<Duplex>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Whatever else comes on this connection is an error again.
    if (refused.has(socket)) return;
    refused.add(socket);
    if (!socket.writable) return void socket.destroy();
    const close = () => socket.destroy();
    // Closed at once, with something unread, it would be reset, and the client not learn why.
    refuseUpgrade(socket, notHttp(error.code)).then(() => setTimeout(close, LINGER_MS).unref(), close);
  });
  return server;
}

/** What was sent is no request, or did not become one in time. */
function notHttp(code: string | undefined): ApiResponse {
  const [status, message] = UNREADABLE[code ?? ''] ?? [400, 'the request is not HTTP'];
  return jsonResponse(status, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    code: status,
  });
}

async function serve(handler: Handler, incoming: http.IncomingMessage, outgoing: http.ServerResponse) {
  const gone = goneSignal(outgoing);
  const response = await handler(requestOf(incoming, gone));
  outgoing.statusCode = response.status;
  for (const name in response.headers) outgoing.setHeader(name, response.headers[name] as string);
  // What was not read of the body would be taken for the next request.
  if (!incoming.complete) outgoing.setHeader('connection', 'close');
  if (incoming.method === 'HEAD') outgoing.end();
  else await send(outgoing, response.body, acceptsGzip(incoming));
}

/** Made when first asked for: most requests are answered without, and a signal and its abort are dear. */
function goneSignal(outgoing: http.ServerResponse): () => AbortSignal {
  let gone: AbortController | undefined;
  return () => {
    if (gone !== undefined) return gone.signal;
    gone = new AbortController();
    const { signal } = gone;
    if (outgoing.closed) gone.abort();
    else outgoing.once('close', () => gone?.abort());
    return signal;
  };
}

async function upgrade(handler: Handler, incoming: http.IncomingMessage, socket: Duplex, head: Buffer) {
  const gone = new AbortController();
  const abort = () => gone.abort();
  socket.once('close', abort);
  socket.on('error', abort);
  const response = await handler(requestOf(incoming, () => gone.signal));
  if (response.tunnel === undefined) await refuseUpgrade(socket, response);
  else joinTunnel(socket, head, response, response.tunnel);
}

function requestOf(incoming: http.IncomingMessage, signal: () => AbortSignal): ApiRequest {
  let body: Promise<Buffer> | undefined;
  return {
    method: incoming.method ?? 'GET',
    url: incoming.url ?? '/',
    headers: flatHeaders(incoming.headers),
    credentials: credentialsOf(incoming),
    get remoteAddress() {
      return incoming.socket.remoteAddress;
    },
    get signal() {
      return signal();
    },
    body: () => {
      body ??= readBody(incoming);
      return body;
    },
  };
}

function flatHeaders(headers: http.IncomingHttpHeaders): Record<string, string | undefined> {
  const flat: Record<string, string | undefined> = {};
  for (const name in headers) {
    const value = headers[name];
    flat[name] = Array.isArray(value) ? value.join(',') : value;
  }
  return flat;
}

/** By connection: a certificate is of the handshake, and taking it apart costs more than many a request. */
const certificates = new WeakMap<TLSSocket, NonNullable<Credentials['certificate']> | 'none'>();

function credentialsOf(incoming: http.IncomingMessage): Credentials {
  const { authorization } = incoming.headers;
  const certificate = certificateOf(incoming.socket as TLSSocket);
  return {
    ...(authorization === undefined ? {} : { authorization }),
    ...(certificate === 'none' ? {} : { certificate }),
  };
}

function certificateOf(socket: TLSSocket): NonNullable<Credentials['certificate']> | 'none' {
  const known = certificates.get(socket);
  if (known !== undefined) return known;
  // Not `authorized`: a certificate of another authority counts as none, and the token still may.
  const subject = socket.authorized === true ? socket.getPeerCertificate().subject : undefined;
  const found =
    subject?.CN === undefined ? 'none' : { commonName: first(subject.CN), organizations: list(subject.O) };
  certificates.set(socket, found);
  return found;
}

const list = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value];
const first = (value: string | string[]): string => list(value)[0] ?? '';

/** By events: iterating over the stream costs several turns of the event loop for a body of one piece. */
function readBody(incoming: http.IncomingMessage): Promise<Buffer> {
  const declared = Number(incoming.headers['content-length'] ?? '0');
  return new Promise((resolve, reject) => {
    if (declared > MAX_BODY) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY) return void chunks.push(chunk);
      // The rest stays unread, and the connection ends with the answer.
      incoming.off('data', take).pause();
      reject(tooLarge());
    };
    incoming.on('data', take);
    incoming.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    incoming.once('error', () => reject(wentAway()));
    // It also closes when all is read: an error made for nothing would cost more than reading the body.
    incoming.once('close', () => {
      if (!incoming.complete) reject(wentAway());
    });
  });
}

const tooLarge = () => statusError('RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY}`);

/** No fault of ours, and nobody is there to read it. */
const wentAway = () => statusError('BadRequest', 'the client went away while it sent the body');

const compress = promisify(gzip);

function acceptsGzip(incoming: http.IncomingMessage): boolean {
  return /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0+)?\s*(?:,|$))|,|$)/i.test(
    String(incoming.headers['accept-encoding'] ?? ''),
  );
}

async function send(outgoing: http.ServerResponse, body: Body, gzipAccepted: boolean): Promise<void> {
  if (!Buffer.isBuffer(body) && Symbol.asyncIterator in body) return stream(outgoing, body);
  const pieces = Buffer.isBuffer(body) ? [body] : body;
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (gzipAccepted && size >= GZIP_FROM && !outgoing.hasHeader('content-encoding')) {
    const packed = await compress(Buffer.concat(pieces), { level: 1 });
    outgoing.setHeader('content-encoding', 'gzip');
    outgoing.setHeader('vary', 'Accept-Encoding');
    outgoing.setHeader('content-length', packed.length);
    outgoing.end(packed);
    return;
  }
  outgoing.setHeader('content-length', size);
  // The head and a small body leave in one write.
  if (size <= WRITE_CHUNK) {
    outgoing.end(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, size));
    return;
  }
  for (const chunk of joined(pieces)) await write(outgoing, chunk);
  outgoing.end();
}

/** Small pieces put together: a write for every object would be a system call and a TLS record each. */
function* joined(pieces: readonly Buffer[]): Generator<Buffer> {
  let waiting: Buffer[] = [];
  let size = 0;
  for (const piece of pieces) {
    waiting.push(piece);
    size += piece.length;
    if (size < WRITE_CHUNK) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(waiting);
}

async function stream(outgoing: http.ServerResponse, body: AsyncIterable<Uint8Array>): Promise<void> {
  outgoing.flushHeaders();
  try {
    for await (const chunk of body) {
      if (outgoing.destroyed) return;
      await write(outgoing, chunk);
    }
  } finally {
    outgoing.end();
  }
}

async function write(outgoing: http.ServerResponse, chunk: Uint8Array): Promise<void> {
  if (outgoing.destroyed || outgoing.write(chunk)) return;
  const settled = new AbortController();
  const { signal } = settled;
  const stalled = setTimeout(() => outgoing.destroy(), STALL_MS);
  // A client that is gone never drains.
  await Promise.race([once(outgoing, 'drain', { signal }), once(outgoing, 'close', { signal })]).finally(
    () => {
      clearTimeout(stalled);
      settled.abort();
    },
  );
}
