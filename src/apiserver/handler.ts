// The path of every request, over HTTPS or in the process: parse, authenticate, authorize, answer; failures become Status.
// Guarantees: never throws; a fault of ours is logged and answered as 500 without its details.
import { randomUUID } from 'node:crypto';
import { ApiError, statusError } from '../api/status.js';
import { DurationError, parseGoDuration } from '../base/goDuration.js';
import { StoreError } from '../store/store.js';
import { authenticate, authorize, type Gate, impersonate } from './access.js';
import type { PathHandler } from './discovery/paths.js';
import { dispatch } from './dispatch.js';
import { type ApiRequest, type ApiResponse, jsonResponse } from './exchange.js';
import type { UserInfo } from './identity.js';
import type { Pacing } from './load/pacing.js';
import { indented, wantsIndent } from './output/indent.js';
import { negotiate } from './output/negotiate.js';
import { parseRequest } from './requestInfo.js';
import { isLongRunning, type RequestTrace } from './requestTrace.js';
import type { Call, ServerContext } from './serverContext.js';
import type { Supervision } from './supervision.js';

export type Handler = (request: ApiRequest) => Promise<ApiResponse>;

interface HandlerOptions {
  readonly server: ServerContext;
  readonly gate: Gate;
  readonly paths: PathHandler;
  readonly supervision?: Supervision;
  readonly pacing: Pacing;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function makeHandler(options: HandlerOptions): Handler {
  const { supervision } = options;
  return async (sent) => {
    const request = supervision?.watched(sent) ?? sent;
    const trace = traceOf(request);
    const warnings: string[] = [];
    let response: ApiResponse;
    try {
      const answered = answer(options, trace, warnings);
      response = answered instanceof Promise ? await answered : answered;
    } catch (error) {
      response = failure(options.server, request, error);
    }
    if (wantsIndent(request) && !isLongRunning(trace) && !isOpenApi(trace)) response = indented(response);
    const headers: Record<string, string> = {
      'audit-id': trace.auditId,
      'cache-control': 'no-cache, private',
      ...response.headers,
    };
    // A write that is tried again warns again.
    if (warnings.length > 0) headers['warning'] = [...new Set(warnings)].map(warningValue).join(', ');
    const complete = { ...response, headers };
    return supervision?.finish(trace, complete) ?? complete;
  };
}

/** Documents of several megabytes, that nobody reads by eye. */
const isOpenApi = ({ info }: RequestTrace) => info?.path.startsWith('/openapi/') === true;

/** All fields from the start: an object that grows field by field is slower to make and to read. */
function traceOf(request: ApiRequest): RequestTrace {
  return {
    request,
    auditId: randomUUID(),
    receivedAt: Date.now(),
    started: performance.now(),
    info: undefined,
    caller: undefined,
    user: undefined,
    allowedBy: undefined,
    leave: undefined,
  };
}

/** Without a promise wherever nothing is to be waited for: a read from the caches by a user known by certificate. */
function answer(
  options: HandlerOptions,
  trace: RequestTrace,
  warnings: string[],
): Promise<ApiResponse> | ApiResponse {
  const { request } = trace;
  if (!METHODS.has(request.method)) {
    throw statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource');
  }
  const { pathname, searchParams: query } = parseUrl(request.url);
  const info = parseRequest(request.method, pathname, query);
  trace.info = info;
  requireTimeout(trace, query);
  const caller = authenticate(options.gate, request);
  const known = { info, query, warnings };
  if (!(caller instanceof Promise)) return answerTo(caller, options, trace, known);
  return caller.then((user) => answerTo(user, options, trace, known));
}

function answerTo(
  caller: UserInfo,
  { server, gate, paths, supervision, pacing }: HandlerOptions,
  trace: RequestTrace,
  { info, query, warnings }: Pick<Call, 'info' | 'query' | 'warnings'>,
): Promise<ApiResponse> | ApiResponse {
  trace.caller = caller;
  supervision?.admit(trace);
  const request = pacing.paced(trace);
  const user = impersonate(gate, caller, request);
  trace.user = user;
  trace.allowedBy = authorize(gate, user, info);
  if (!info.isResource) {
    if (info.verb !== 'get' && info.verb !== 'head') {
      throw statusError(
        'MethodNotAllowed',
        'the server does not allow this method on the requested resource',
      );
    }
    return paths(info.path, query, request.headers['accept']);
  }
  const negotiated = negotiate(request.headers['accept']);
  const demand = (verb: string) => authorize(gate, user, { ...info, verb });
  const annotate = (key: string, value: string) => {
    trace.annotations = { ...trace.annotations, [key]: value };
  };
  const step = (bytes: number) => pacing.step(caller.name, bytes);
  return dispatch(server, { request, info, query, user, negotiated, warnings, demand, annotate, step });
}

/** How long the client would wait is its own affair, but it has to be a time. */
function requireTimeout(trace: RequestTrace, query: URLSearchParams): void {
  const timeout = query.get('timeout') ?? '';
  if (timeout === '' || isLongRunning(trace)) return;
  try {
    parseGoDuration(timeout);
  } catch (cause) {
    if (!(cause instanceof DurationError)) throw cause;
    const message = `invalid timeout specified in the request URL - ${cause.message}`;
    throw statusError('BadRequest', message, undefined, { cause });
  }
}

function parseUrl(url: string): { readonly pathname: string; readonly searchParams: URLSearchParams } {
  // Resolving would fold `..` and `//host` away; only the path and query are wanted, as sent.
  const split = url.indexOf('?');
  const path = split === -1 ? url : url.slice(0, split);
  if (!path.startsWith('/')) throw statusError('BadRequest', 'the request target must be a path');
  const searchParams = split === -1 ? NO_QUERY : new URLSearchParams(url.slice(split + 1));
  return { pathname: path, searchParams };
}

/** Of all requests that have none; whoever wants another makes a copy. */
const NO_QUERY = new URLSearchParams();

/** A refusal as it is; anything else is our fault or the store's. */
function failure({ log }: Pick<ServerContext, 'log'>, request: ApiRequest, error: unknown): ApiResponse {
  const refusal = error instanceof ApiError ? error : unexpected(error);
  if (refusal.code >= 500 && !(error instanceof ApiError)) {
    const path = request.url.split('?')[0] ?? '';
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error('a request failed', { method: request.method, path, error: why });
  }
  const response = jsonResponse(refusal.code, refusal.status);
  const retry = refusal.status.details?.retryAfterSeconds;
  return retry === undefined
    ? response
    : { ...response, headers: { ...response.headers, 'retry-after': String(retry) } };
}

function unexpected(cause: unknown): ApiError {
  if (cause instanceof StoreError && (cause.code === 'UNAVAILABLE' || cause.code === 'CLOSED')) {
    return statusError(
      'ServiceUnavailable',
      'the store cannot be reached',
      { retryAfterSeconds: 1 },
      { cause },
    );
  }
  if (cause instanceof StoreError && cause.code === 'TOO_LARGE') {
    return statusError('RequestEntityTooLarge', cause.message, {}, { cause });
  }
  const message = 'Internal error occurred: the server could not complete the request; its log says why';
  return statusError('InternalError', message, {}, { cause });
}

/** RFC 7234, 5.5: code 299, no agent, the text quoted. */
function warningValue(text: string): string {
  const printable = text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&');
  return `299 - "${printable.slice(0, 1024)}"`;
}
