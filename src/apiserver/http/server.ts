// The HTTPS side: sockets and node:http in, requests of the common path out, answers written back.
// Guarantees: bodies, headers and times are bounded; a client that does not read is written no more than one piece, and
// cut off when it takes nothing for a minute.
import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { subjectUser } from '../../api/certificates/subject.js';
import type { Log } from '../../api/log.js';
import { statusError } from '../../api/status.js';
import { type ApiRequest, type ApiResponse, jsonResponse, MAX_BODY, requestWith } from '../exchange.js';
import type { Handler } from '../handler.js';
import type { Credentials, UserInfo } from '../identity.js';
import { LARGE_PIECE, PIECE } from '../registry/frameChunks.js';
import { gzipped } from './gzip.js';
import { IncomingBytes } from './incomingBytes.js';
import { settled } from './settled.js';
import { joinTunnel, refuseUpgrade } from './tunnel.js';
import { Unsent } from './unsent.js';
import { sendOverWebSocket, webSocketAnswer } from './webSocket.js';
import { webSocketAuthorization } from './webSocketToken.js';

export interface TlsFiles {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Client certificates of this authority are believed; others are as if none was sent. */
  readonly clientCa?: string | Buffer;
  /** Of TLS 1.2, by OpenSSL's names; Node's own unless given. */
  readonly ciphers?: string;
  /** TLS 1.2 unless given. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
}

interface HttpsServerOptions {
  readonly tls: TlsFiles;
  readonly handler: Handler;
  readonly log: Log;
}

/** As Go's: a long command line of exec travels in the URL. */
const MAX_HEADERS = 1024 * 1024;
const GZIP_FROM = 128 * 1024;
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
    minVersion: tls.minVersion ?? 'TLSv1.2',
    ...(tls.ciphers === undefined ? {} : { ciphers: tls.ciphers }),
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
  const asUser = (request: ApiRequest): ApiRequest => requestWith(request, { user });
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
  const response = await handler(new HttpRequest(incoming, outgoing));
  // What was not read of the body would be taken for the next request.
  if (!incoming.complete) outgoing.shouldKeepAlive = false;
  if (incoming.method === 'HEAD') outgoing.writeHead(response.status, response.headers).end();
  else if (Buffer.isBuffer(response.body) && response.body.length <= PIECE)
    sendWhole(outgoing, response, response.body);
  else await send(incoming, outgoing, response);
}

async function upgrade(handler: Handler, incoming: http.IncomingMessage, socket: Duplex, head: Buffer) {
  socket.on('error', () => socket.destroy());
  const response = await handler(new HttpRequest(incoming, socket));
  const answer = webSocketAnswer(incoming, response);
  if (response.tunnel !== undefined) joinTunnel(socket, head, response, response.tunnel);
  else if (answer !== undefined) await sendOverWebSocket(socket, head, answer);
  else await refuseUpgrade(socket, response);
}

/** What of a request is dear, its body, its headers and the signal that its client has gone, is made when first asked for. */
class HttpRequest implements ApiRequest {
  readonly #incoming: http.IncomingMessage;
  readonly #outgoing: http.ServerResponse | Duplex;

  #reading: Promise<Buffer> | undefined;
  #gone: AbortController | undefined;

  /** `outgoing` closes when the client has gone. */
  constructor(incoming: http.IncomingMessage, outgoing: http.ServerResponse | Duplex) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
  }

  get method(): string {
    return this.#incoming.method ?? 'GET';
  }

  get url(): string {
    return this.#incoming.url ?? '/';
  }

  get headers(): ApiRequest['headers'] {
    const { headers } = this.#incoming;
    // The one header that Node gives as a list; a request has no use for it.
    return headers['set-cookie'] === undefined
      ? (headers as ApiRequest['headers'])
      : ({ ...headers, 'set-cookie': headers['set-cookie'].join(',') } as ApiRequest['headers']);
  }

  get credentials(): Credentials {
    return credentialsOf(this.#incoming);
  }

  get remoteAddress(): string | undefined {
    return this.#incoming.socket.remoteAddress;
  }

  get signal(): AbortSignal {
    if (this.#gone !== undefined) return this.#gone.signal;
    const gone = new AbortController();
    this.#gone = gone;
    if (this.#outgoing.closed) gone.abort();
    else this.#outgoing.once('close', () => gone.abort());
    return gone.signal;
  }

  /** Without the signal, which costs more than most of a write. */
  isAllowed(): boolean {
    return !this.#outgoing.closed;
  }

  body(): Promise<Buffer> {
    this.#reading ??= readBody(this.#incoming, this.#outgoing);
    return this.#reading;
  }
}

/** By connection: a certificate is of the handshake, and taking it apart costs more than many a request. */
const byConnection = new WeakMap<TLSSocket, Credentials>();

function credentialsOf(incoming: http.IncomingMessage): Credentials {
  const { headers } = incoming;
  const isUpgrade = headers.upgrade !== undefined;
  const authorization = headers.authorization ?? (isUpgrade ? webSocketAuthorization(headers) : undefined);
  const known = connectionCredentials(incoming.socket as TLSSocket);
  return authorization === undefined ? known : { ...known, authorization };
}

function connectionCredentials(socket: TLSSocket): Credentials {
  const known = byConnection.get(socket);
  if (known !== undefined) return known;
  // Not `authorized`: a certificate of another authority counts as none, and the token still may.
  const certificate = socket.authorized === true ? socket.getPeerCertificate() : undefined;
  const found: Credentials =
    certificate?.subject === undefined
      ? {}
      : {
          certificate: {
            ...subjectUser(certificate.subject),
            notAfterMs: Date.parse(certificate.valid_to),
            fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
          },
        };
  byConnection.set(socket, found);
  return found;
}

/** By events: iterating over the stream costs several turns of the event loop for a body of one piece. */
function readBody(incoming: http.IncomingMessage, outgoing: http.ServerResponse | Duplex): Promise<Buffer> {
  const declared = Number(incoming.headers['content-length'] ?? '0');
  return new Promise((resolve, reject) => {
    if (declared > MAX_BODY) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let size = 0;
    const body = incomingBytes.open(() => outgoing.once('close', () => body.release()));
    const take = (chunk: Buffer) => {
      size += chunk.length;
      const isWithin = size <= MAX_BODY;
      if (isWithin && body.take(chunk.length)) return void chunks.push(chunk);
      // The rest stays unread, and the connection ends with the answer.
      incoming.off('data', take).pause();
      chunks.length = 0;
      reject(isWithin ? noRoom() : tooLarge());
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

const incomingBytes = new IncomingBytes();

const noRoom = () =>
  statusError('TooManyRequests', 'The server has too many large requests to read; try again later', {
    retryAfterSeconds: 1,
  });

/** No fault of ours, and nobody is there to read it. */
const wentAway = () => statusError('BadRequest', 'the client went away while it sent the body');

const compress = promisify(gzip);

function acceptsGzip(incoming: http.IncomingMessage): boolean {
  return /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0+)?\s*(?:,|$))|,|$)/i.test(
    String(incoming.headers['accept-encoding'] ?? ''),
  );
}

/** The head and a small body leave in one write. */
function sendWhole(outgoing: http.ServerResponse, { status, headers }: ApiResponse, body: Buffer): void {
  const list: (string | number)[] = ['content-length', body.length];
  for (const name in headers) list.push(name, headers[name] as string);
  outgoing.writeHead(status, list).end(body);
}

async function send(
  incoming: http.IncomingMessage,
  outgoing: http.ServerResponse,
  response: ApiResponse,
): Promise<void> {
  const { status, headers, body, ends = false } = response;
  const size = Buffer.isBuffer(body) ? body.length : Number(headers['content-length'] ?? GZIP_FROM);
  const isPacked =
    (ends || Buffer.isBuffer(body)) &&
    size >= GZIP_FROM &&
    headers['content-encoding'] === undefined &&
    acceptsGzip(incoming);
  if (!isPacked && Buffer.isBuffer(body)) return sendLarge(outgoing, response, body);
  if (!isPacked) {
    outgoing.writeHead(status, headers);
    return stream(outgoing, body as AsyncIterable<Uint8Array>, { isAwaited: !ends });
  }
  const { 'content-length': _, ...rest } = headers;
  const packing = { ...rest, 'content-encoding': 'gzip', vary: 'Accept-Encoding' };
  if (Buffer.isBuffer(body))
    return sendLarge(outgoing, { ...response, headers: packing }, await compress(body, { level: 1 }));
  outgoing.writeHead(status, packing);
  return stream(outgoing, gzipped(body), { isAwaited: false });
}

const unsent = new Unsent();

/** In pieces: TLS makes its own of all that it is given, whether the client reads or not. */
async function sendLarge(outgoing: http.ServerResponse, response: ApiResponse, body: Buffer): Promise<void> {
  if (body.length <= PIECE) return sendWhole(outgoing, response, body);
  outgoing.writeHead(response.status, { ...response.headers, 'content-length': body.length });
  const answer = unsent.add(body.length, () => outgoing.destroy());
  try {
    for (let at = 0; at < body.length && !outgoing.destroyed; at += PIECE) {
      await write(outgoing, body.subarray(at, at + PIECE));
      answer.progressed();
    }
    outgoing.end();
  } finally {
    answer.done();
  }
}

/** `isAwaited` is set for a stream whose first bytes may be long in coming. */
async function stream(
  outgoing: http.ServerResponse,
  body: AsyncIterable<Uint8Array>,
  { isAwaited }: { readonly isAwaited: boolean },
): Promise<void> {
  if (isAwaited) outgoing.flushHeaders();
  const pieces = body[Symbol.asyncIterator]();
  try {
    while (await writeNext(outgoing, pieces));
  } finally {
    await pieces.return?.();
  }
  if (outgoing.destroyed) return;
  // Not when the body failed: the client must not take what it has for the whole.
  outgoing.end();
}

/** A function of its own: a loop that waits keeps what its registers last held, here the piece before the current one. */
async function writeNext(outgoing: http.ServerResponse, pieces: AsyncIterator<Uint8Array>): Promise<boolean> {
  const { done, value } = await pieces.next();
  if (done || outgoing.destroyed) return false;
  await write(outgoing, value);
  return true;
}

/** Waits when the client does not read as fast as it is written to; a large piece until its memory may change. */
async function write(outgoing: http.ServerResponse, chunk: Uint8Array): Promise<void> {
  if (outgoing.destroyed) return;
  if (chunk.length >= LARGE_PIECE) return settled(outgoing, (done) => outgoing.write(chunk, done));
  if (!outgoing.write(chunk)) await settled(outgoing, (done) => outgoing.once('drain', done));
}
