// Health and metrics of a component that runs alone, over HTTPS: /healthz, /livez, /readyz, /metrics.
// Guarantees: only health is told to everyone; whoever asks for more is named and may, by the apiserver's word.
import type http from 'node:http';
import https from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import { type Family, METRICS_TYPE, metricsText } from '../base/metrics.js';
import { bearerOf, type Caller, certificateCaller, type DelegatedAccess } from './delegatedAccess.js';
import { type Listening, listen } from './listen.js';

/** What is wrong, or undefined. */
type HealthCheck = () => string | undefined;

export interface ComponentServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: {
    readonly cert: string;
    readonly key: string;
    readonly clientCa?: string;
    /** Of TLS 1.2, by OpenSSL's names; Node's own unless given. */
    readonly ciphers?: string;
    /** TLS 1.2 unless given. */
    readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  };
  readonly access: DelegatedAccess;
  /** By name. `live` are those that a restart could heal; `ready` are asked beside them. */
  readonly checks: {
    readonly live: Readonly<Record<string, HealthCheck>>;
    readonly ready: Readonly<Record<string, HealthCheck>>;
  };
  readonly metrics: readonly Family[];
  readonly log: Log;
}

const ANONYMOUS: Caller = { user: 'system:anonymous', groups: ['system:unauthenticated'] };

export async function openComponentServer(options: ComponentServerOptions): Promise<Listening> {
  const { host, port, tls, log } = options;
  const server = https.createServer({
    cert: tls.cert,
    key: tls.key,
    ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa }),
    // A certificate is asked for and not required: a caller may have a token instead.
    requestCert: tls.clientCa !== undefined,
    rejectUnauthorized: false,
    minVersion: tls.minVersion ?? 'TLSv1.2',
    ...(tls.ciphers === undefined ? {} : { ciphers: tls.ciphers }),
  });
  server.on('request', (request, response) => {
    answerOf(options, request)
      .catch((error: unknown): Answer => {
        log.warn('a request failed', { error: messageOf(error) });
        return { status: 500, body: 'Internal Server Error\n' };
      })
      .then(({ status, body, type = 'text/plain; charset=utf-8' }) => {
        response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' });
        response.end(request.method === 'HEAD' ? undefined : body);
      });
  });
  return listen(server, { host, port });
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

async function answerOf(options: ComponentServerOptions, request: http.IncomingMessage): Promise<Answer> {
  // As it was sent: resolving would take `//host/metrics` for a path of ours, and fail on what is no URL.
  const [pathname = '/', query = ''] = (request.url ?? '/').split('?', 2);
  const searchParams = new URLSearchParams(query);
  const { live, ready } = options.checks;
  if (pathname === '/healthz' || pathname === '/livez')
    return health(pathname.slice(1), live, searchParams.has('verbose'));
  if (pathname === '/readyz') return health('readyz', { ...live, ...ready }, searchParams.has('verbose'));
  const refusal = await refusalOf(options.access, request, pathname);
  if (refusal !== undefined) return refusal;
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return { status: 405, body: 'Method Not Allowed\n' };
  if (pathname !== '/metrics') return { status: 404, body: '404 page not found\n' };
  return { status: 200, body: metricsText(options.metrics), type: METRICS_TYPE };
}

/** In the words of Kubernetes' components. The reasons are for whoever may read the log, not for everyone. */
function health(name: string, checks: Readonly<Record<string, HealthCheck>>, verbose: boolean): Answer {
  const results = Object.entries({ ping: () => undefined, ...checks }).map(([check, ask]) => ({
    check,
    isWell: ask() === undefined,
  }));
  const isWell = results.every((result) => result.isWell);
  if (isWell && !verbose) return { status: 200, body: 'ok' };
  const lines = results.map(({ check, isWell: well }) =>
    well ? `[+]${check} ok` : `[-]${check} failed: reason withheld`,
  );
  const body = [...lines, `${name} check ${isWell ? 'passed' : 'failed'}`, ''].join('\n');
  return { status: isWell ? 200 : 500, body };
}

async function refusalOf(
  access: DelegatedAccess,
  request: http.IncomingMessage,
  path: string,
): Promise<Answer | undefined> {
  const bearer = bearerOf(request.headers.authorization);
  const certificate = certificateCaller(request.socket as TLSSocket);
  const known = await access.authenticate({ certificate, bearer });
  if (known === undefined && bearer !== undefined) return { status: 401, body: 'Unauthorized\n' };
  const caller = known ?? ANONYMOUS;
  const verb = (request.method ?? '').toLowerCase();
  const allowed = await access.authorize(caller, { nonResourceAttributes: { path, verb } });
  if (allowed) return undefined;
  return {
    status: 403,
    body: `Forbidden: user ${JSON.stringify(caller.user)} cannot ${verb} path ${path}\n`,
  };
}
