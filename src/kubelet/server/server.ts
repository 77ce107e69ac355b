// The kubelet's own API on 10250: pods, logs, and streams into containers.
// Guarantees: every request, also one that is refused later, has been authenticated and authorized first.
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TLSSocket } from 'node:tls';
import type { Log } from '../../api/log.js';
import type { RuntimeService } from '../../cri/runtime.js';
import { messageOf } from '../error.js';
import type { Pod } from '../ports.js';
import { type Access, bearerOf, certificateCaller } from './access.js';
import { HttpError, hasContainer, readySandbox, runForLogs, runningContainer } from './containers.js';
import { flag, LogOptionsError, logOptions } from './logs/options.js';
import { readLog } from './logs/read.js';
import { attributesOf, type Route, routeOf } from './routes.js';
import { runningPods } from './runningPods.js';
import { joinStream } from './streaming.js';

export interface KubeletServerOptions {
  readonly address: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string; readonly clientCa: string };
  readonly access: Access;
  readonly runtime: RuntimeService;
  readonly pods: {
    list(): readonly Pod[];
    get(namespace: string, name: string): Pod | undefined;
  };
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
  const server = https.createServer(secureContext(options.tls));
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    renew: (tls) => server.setSecureContext(secureContext(tls)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A certificate is asked for and not required: a caller may have a token instead. */
const secureContext = ({ cert, key, clientCa }: KubeletServerOptions['tls']) => ({
  cert,
  key,
  ca: clientCa,
  requestCert: true,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2' as const,
});

interface Asked {
  readonly route: Route;
  readonly query: URLSearchParams;
}

/** Throws 401 or 403 before anything is looked up, so that a stranger learns nothing, not even what exists. */
async function admit({ access }: KubeletServerOptions, request: http.IncomingMessage): Promise<Asked> {
  const [path = '/', query = ''] = splitOnce(request.url ?? '/');
  const caller = await access.authenticate({
    certificate: certificateCaller(request.socket as TLSSocket),
    bearer: bearerOf(request.headers.authorization),
  });
  if (caller === undefined) throw new HttpError(401, 'Unauthorized');
  const attributes = attributesOf(request.method ?? '', path);
  let allowed: boolean;
  try {
    allowed = await access.authorize(caller, attributes);
  } catch (cause) {
    const { verb, subresources } = attributes;
    const what = `user=${caller.user}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}]`;
    throw new HttpError(500, `Authorization error (${what})`, { cause });
  }
  if (!allowed) {
    const { verb, subresources } = attributes;
    const what = `user=${caller.user}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}]`;
    throw new HttpError(403, `Forbidden (${what})`);
  }
  const route = routeOf(path);
  if (route === undefined) throw new HttpError(404, '404 page not found');
  return { route, query: new URLSearchParams(query) };
}

async function answer(
  options: KubeletServerOptions,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const { route, query } = await admit(options, request);
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
    case 'run': {
      const pod = podOf(options, route);
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
  const pod = podOf(options, { ...asked, uid: undefined });
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
  response.writeHead(200, { 'content-type': 'text/plain' });
  // A follower learns at once that it is connected.
  response.flushHeaders();
  await pipeline(Readable.from(lines, { objectMode: false }), response);
}

async function upgrade(
  options: KubeletServerOptions,
  request: http.IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { route, query } = await admit(options, request);
  const url = await streamUrl(options, route, query);
  await joinStream({ request, socket, head, url });
}

async function streamUrl(
  options: KubeletServerOptions,
  route: Route,
  query: URLSearchParams,
): Promise<string> {
  const { runtime } = options;
  if (route.kind === 'portForward') {
    const sandbox = await readySandbox(runtime, podOf(options, route));
    return runtime.portForward(sandbox, query.getAll('port').map(Number).filter(Number.isInteger));
  }
  if (route.kind !== 'exec' && route.kind !== 'attach') throw new HttpError(400, 'this path has no upgrade');
  const tty = flag(query, 'tty');
  const streams = {
    tty,
    stdin: flag(query, 'input') || flag(query, 'stdin'),
    stdout: flag(query, 'output') || flag(query, 'stdout'),
    // A terminal has one stream for both; runtimes refuse to be asked for two.
    stderr: !tty && (flag(query, 'error') || flag(query, 'stderr')),
  };
  if (!streams.stdin && !streams.stdout && !streams.stderr)
    throw new HttpError(400, 'you must specify at least 1 of stdin, stdout, stderr');
  const pod = podOf(options, route);
  const containerId = await runningContainer(runtime, pod, route.container);
  if (route.kind === 'attach') return runtime.attach({ containerId, ...streams });
  const cmd = query.getAll('command');
  if (cmd.length === 0) throw new HttpError(400, 'you must specify at least 1 command');
  return runtime.exec({ containerId, cmd, ...streams });
}

function podOf(
  { pods }: KubeletServerOptions,
  {
    namespace,
    pod: name,
    uid,
  }: { readonly namespace: string; readonly pod: string; readonly uid: string | undefined },
): Pod {
  const pod = pods.get(namespace, name);
  if (pod === undefined || (uid !== undefined && pod.metadata.uid !== uid))
    throw new HttpError(404, 'pod does not exist');
  return pod;
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

function splitOnce(url: string): [string, string] {
  const mark = url.indexOf('?');
  return mark === -1 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}
