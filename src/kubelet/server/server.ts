// The kubelet's own API on 10250: pods, logs, and streams into containers.
// Guarantees: every request, also one that is refused later, has been authenticated and authorized first.
import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import { listen } from '../../client/listen.js';
import type { RuntimeService } from '../../cri/runtime.js';
import type { Access } from './access.js';
import { admit } from './admit.js';
import { checkpoint } from './checkpoint.js';
import { cipherList } from './cipherSuites.js';
import {
  HttpError,
  hasContainer,
  type PodLookup,
  podOf,
  runForLogs,
  runningContainer,
} from './containers.js';
import { LogOptionsError, logOptions } from './logs/options.js';
import { readLog } from './logs/read.js';
import { runningPods } from './runningPods.js';
import { joinStream } from './streaming.js';
import { streamUrl } from './streamUrl.js';

/** As Go's: a long command line of exec travels in the URL. */
const MAX_HEADER_BYTES = 1024 * 1024;

export interface KubeletServerOptions {
  readonly address: string;
  /** 0 for any that is free. */
  readonly port: number;
  /** Without a certificate yet, no connection is made; without an authority, no caller's certificate is believed. */
  readonly tls: {
    readonly cert?: string;
    readonly key?: string;
    readonly clientCa: string | readonly string[];
  };
  /** What both sides must speak; see KubeletConfig. */
  readonly tlsMinVersion?: string;
  readonly tlsCipherSuites?: readonly string[];
  /** Off: neither logs nor a way into containers. On unless said otherwise. */
  readonly enableDebuggingHandlers?: boolean;
  readonly access: Access;
  readonly runtime: RuntimeService;
  readonly pods: PodLookup;
  /** Where archives of checkpoints go; made with the first. */
  readonly checkpointsDir: string;
  readonly log: Log;
  /** What is wrong with the kubelet, or undefined. */
  readonly health?: () => string | undefined;
  /** Answers paths such as /metrics and /stats/summary; returns false for those it does not know. */
  readonly others?: (request: http.IncomingMessage, response: http.ServerResponse) => boolean;
}

export interface KubeletServer {
  readonly port: number;
  /** For renewed certificates; connections that are open keep theirs. */
  renew(tls: KubeletServerOptions['tls']): void;
  close(): Promise<void>;
}

export async function openKubeletServer(options: KubeletServerOptions): Promise<KubeletServer> {
  const { address, port, log } = options;
  const server = https.createServer({
    ...secureContext(options, options.tls),
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const sockets = new Set<Duplex>();
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => {
    answer(options, request, response).catch((error) => refuse(response, error, log));
  });
  server.on('upgrade', (request, socket, head) => {
    // Until it is joined nobody else listens: an error here must not end the process.
    socket.on('error', () => socket.destroy());
    upgrade(options, request, socket, head).catch((error) => refuseUpgrade(socket, error, log));
  });
  const listening = await listen(server, { host: address, port });
  return {
    port: listening.port,
    renew: (tls) => server.setSecureContext(secureContext(options, tls)),
    close: () => {
      // Those that were upgraded are the server's no more.
      for (const socket of sockets) socket.destroy();
      return listening.close();
    },
  };
}

/** A certificate is asked for and not required: a caller may have a token instead. */
const secureContext = (
  { tlsMinVersion, tlsCipherSuites = [] }: KubeletServerOptions,
  { cert, key, clientCa }: KubeletServerOptions['tls'],
) => ({
  ...(cert === undefined || key === undefined ? {} : { cert, key }),
  ca: typeof clientCa === 'string' ? clientCa : [...clientCa],
  requestCert: true,
  rejectUnauthorized: false,
  minVersion: tlsMinVersion === 'VersionTLS13' ? ('TLSv1.3' as const) : ('TLSv1.2' as const),
  ciphers: cipherList(tlsCipherSuites),
});

const DEBUGGING: ReadonlySet<string> = new Set([
  'logs',
  'run',
  'exec',
  'attach',
  'portForward',
  'runningPods',
]);

function requireAllowed({ enableDebuggingHandlers = true }: KubeletServerOptions, kind: string): void {
  if (!enableDebuggingHandlers && DEBUGGING.has(kind))
    throw new HttpError(405, 'Debug endpoints are disabled.');
}

async function answer(
  options: KubeletServerOptions,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const { route, query } = await admit(options.access, request);
  requireAllowed(options, route.kind);
  switch (route.kind) {
    case 'healthz': {
      const problem = options.health?.();
      if (problem !== undefined) throw new HttpError(500, problem);
      return text(response, 200, 'ok');
    }
    case 'pods': {
      const items = options.pods.list();
      return json(response, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items });
    }
    case 'runningPods':
      return json(response, await runningPods(options.runtime));
    case 'logs':
      return logs(options, { ...route, query }, response);
    case 'checkpoint': {
      if (request.method !== 'POST') throw new HttpError(405, '405: Method Not Allowed');
      const { runtime, pods, checkpointsDir: directory } = options;
      const asked = { ...route, timeouts: query.getAll('timeout'), nowMs: Date.now() };
      return json(response, await checkpoint({ runtime, pods, directory }, asked));
    }
    case 'run': {
      if (request.method !== 'POST') throw new HttpError(405, '405: Method Not Allowed');
      const pod = podOf(options.pods, route);
      const id = await runningContainer(options.runtime, pod, route.container);
      const cmd = (query.get('cmd') ?? '').split(' ').filter((word) => word !== '');
      const { stdout, stderr } = await options.runtime.execSync(id, cmd, 0);
      return text(response, 200, Buffer.concat([stdout, stderr]));
    }
    case 'exec':
    case 'attach':
    case 'portForward':
      throw new HttpError(400, 'Upgrade request required');
    case 'other':
      if (options.others?.(request, response) !== true) throw new HttpError(404, '404 page not found');
  }
}

async function logs(
  options: KubeletServerOptions,
  asked: {
    readonly namespace: string;
    readonly pod: string;
    readonly container: string;
    readonly query: URLSearchParams;
  },
  response: http.ServerResponse,
): Promise<void> {
  const { runtime } = options;
  const { container: name, query } = asked;
  const wanted = logOptions(query, Date.now());
  const pod = podOf(options.pods, { ...asked, uid: undefined });
  if (!hasContainer(pod, name))
    throw new HttpError(404, `container "${name}" not found in pod "${asked.pod}"`);
  const run = await runForLogs(runtime, pod, { name, previous: wanted.previous });
  const { logPath } = await runtime.containerStatus(run.id);
  const aborted = new AbortController();
  response.on('close', () => aborted.abort());
  const isRunning = async () => {
    const status = await runtime.containerStatus(run.id).catch(() => undefined);
    return status?.state === 'CONTAINER_RUNNING';
  };
  const lines = readLog({ file: logPath, options: wanted, isRunning, signal: aborted.signal });
  // A follower learns at once that it is connected; who reads to the end learns first of a log that cannot be read.
  const first = wanted.follow ? undefined : await lines.next();
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.flushHeaders();
  await pipeline(Readable.from(begunWith(first, lines), { objectMode: false }), response);
}

async function* begunWith<T>(
  first: IteratorResult<T> | undefined,
  rest: AsyncIterable<T>,
): AsyncGenerator<T> {
  if (first?.done === true) return;
  if (first !== undefined) yield first.value;
  yield* rest;
}

async function upgrade(
  options: KubeletServerOptions,
  request: http.IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { route, query } = await admit(options.access, request);
  requireAllowed(options, route.kind);
  const found = await streamUrl(options, route, query);
  await joinStream({ request, socket, head, ...found });
}

function statusOf(error: unknown): number {
  if (error instanceof HttpError) return error.status;
  return error instanceof LogOptionsError ? 422 : 500;
}

function refuse(response: http.ServerResponse, error: unknown, log: Log): void {
  if (statusOf(error) >= 500) log.warn('a request failed', { error: messageOf(error) });
  // Headers are out: only an end in the middle tells the reader that something is missing.
  if (response.headersSent) response.destroy();
  else text(response, statusOf(error), `${messageOf(error)}\n`);
}

function refuseUpgrade(socket: Duplex, error: unknown, log: Log): void {
  const status = statusOf(error);
  const words = `${messageOf(error)}\n`;
  if (status >= 500) log.warn('a stream could not be opened', { error: messageOf(error) });
  const lines = [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(words)}`,
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${words}`);
}

function text(response: http.ServerResponse, status: number, body: string | Buffer): void {
  const type = 'text/plain; charset=utf-8';
  response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' }).end(body);
}

function json(response: http.ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
