// What happens around every request: a place in flight, a count, a line in the audit log.
// Guarantees: a place is given back however the request ends; a long request is counted until its last byte or its client is gone.

import type { AuditSink } from './audit/auditLog.js';
import { auditEvent, MAX_BODY } from './audit/event.js';
import type { AuditLevel, AuditPolicy } from './audit/policy.js';
import { type ApiRequest, type ApiResponse, requestWith } from './exchange.js';
import type { InFlight } from './load/inFlight.js';
import type { RequestMetrics } from './metrics/requests.js';
import { isLongRunning, type RequestTrace } from './requestTrace.js';

export interface Audit {
  readonly policy: AuditPolicy;
  readonly sink: AuditSink;
}

export interface Supervision {
  /** When the caller is known. Throws TooManyRequests. */
  admit(trace: RequestTrace): void;
  /** Once a request, with its answer; answers what is to be sent. */
  finish(trace: RequestTrace, response: ApiResponse): ApiResponse;
  /** The request to hand on: what is recorded of its body is kept as it is read. */
  watched(request: ApiRequest): ApiRequest;
}

export function makeSupervision(options: {
  readonly inFlight: InFlight;
  readonly metrics: RequestMetrics;
  readonly audit?: Audit | undefined;
}): Supervision {
  const { inFlight, metrics, audit } = options;
  const bodies = new WeakMap<ApiRequest, Buffer>();

  return {
    watched(request) {
      if (audit === undefined) return request;
      const body = async () => {
        const bytes = await request.body();
        bodies.set(kept, bytes);
        return bytes;
      };
      const kept: ApiRequest = requestWith(request, { body });
      return kept;
    },
    admit(trace) {
      trace.leave = inFlight.enter(trace);
    },
    finish(trace, response) {
      trace.leave?.();
      metrics.answered(trace, response.status, performance.now());
      const recorded =
        audit === undefined ? response : record(audit, trace, response, bodies.get(trace.request));
      if (!isLongRunning(trace)) return recorded;
      return untilEnd(trace, recorded, metrics.longRunning(trace));
    },
  };
}

/** Answers what is to be sent: a list whose bytes are recorded is so when its client has read it or gone. */
function record(
  { policy, sink }: Audit,
  trace: RequestTrace,
  response: ApiResponse,
  sent: Buffer | undefined,
): ApiResponse {
  const level: AuditLevel = policy(trace);
  if (level === 'None') return response;
  const { status, body, ends = false } = response;
  const write = (answered: Buffer | undefined) =>
    sink.write(JSON.stringify(auditEvent(trace, level, { status, sent, answered }, Date.now())));
  if (Buffer.isBuffer(body) || !ends || level !== 'RequestResponse') {
    write(Buffer.isBuffer(body) && level === 'RequestResponse' ? body : undefined);
    return response;
  }
  const { signal } = trace.request;
  let isWritten = false;
  const once = (answered?: Buffer) => {
    if (!isWritten) write(answered);
    isWritten = true;
  };
  signal.addEventListener('abort', () => once(), { once: true });
  return { ...response, body: collecting(body, once) };
}

/** Hands the pieces on, and tells of them together at the end unless they are too many to be recorded. */
async function* collecting(
  body: AsyncIterable<Uint8Array>,
  tell: (whole: Buffer | undefined) => void,
): AsyncGenerator<Uint8Array> {
  let kept: Uint8Array[] | undefined = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > MAX_BODY) kept = undefined;
    else kept?.push(Buffer.from(piece));
    yield piece;
  }
  tell(kept === undefined ? undefined : Buffer.concat(kept));
}

function untilEnd(trace: RequestTrace, response: ApiResponse, ended: (now: number) => void): ApiResponse {
  const end = () => ended(performance.now());
  const { body, events, tunnel } = response;
  if (tunnel !== undefined) {
    tunnel.socket.once('close', end);
    return response;
  }
  if (Buffer.isBuffer(body)) {
    end();
    return response;
  }
  const { signal } = trace.request;
  // A body that nobody begins to read has no end of its own.
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  const watched = events === undefined ? {} : { events: ending(events, end, signal) };
  return { ...response, body: ending(body, end, signal), ...watched };
}

async function* ending<T>(body: AsyncIterable<T>, end: () => void, signal: AbortSignal): AsyncGenerator<T> {
  try {
    yield* body;
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
