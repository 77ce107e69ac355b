// One request with its retries: what a typed verb and a raw path have in common.
// Guarantees: only what the server did not act on is sent again; a request never waits for ever.

import { BackOff } from '../base/backOff.js';
import { pause } from '../base/deadline.js';
import { readBody, refusalOf } from './answer.js';
import type { Extent } from './client.js';
import { ClientError } from './error.js';
import type { Transport, TransportRequest } from './transport.js';

export interface RequesterOptions {
  /** How often a request is sent again after 429 or 503 with Retry-After. */
  readonly retries?: number;
  readonly requestTimeoutMs?: number;
  /** After so long without a word a watch is taken for dead. */
  readonly watchSilenceMs?: number;
  readonly pause?: (delayMs: number, signal?: AbortSignal) => Promise<void>;
}

interface Call {
  readonly method: TransportRequest['method'];
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string | undefined;
}

const JSON_TYPE = 'application/json';

/** For an object's or a list's metadata alone; a server that cannot cut it down sends the whole. */
export function acceptOf(kind: 'object' | 'list', { metadataOnly = false }: Extent): string | undefined {
  if (!metadataOnly) return undefined;
  const partial = kind === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  return `${JSON_TYPE};as=${partial};g=meta.k8s.io;v=v1,${JSON_TYPE}`;
}

export type Requester = (call: Call) => Promise<Buffer>;

/** Tries of a GET whose connection failed: enough for a restarted server's stale connections, short enough to be told. */
const CONNECTION_RETRIES = 3;
const LONGEST_RETRY_AFTER_S = 60;

export function makeRequester(
  transport: Transport,
  closing: AbortSignal,
  options: RequesterOptions,
): Requester {
  const { retries = 10, requestTimeoutMs = 60_000, pause: wait = pause } = options;

  // One listener for all: with hundreds under way, each of its own would be looked for among the others when it ends.
  const underWay = new Set<AbortController>();
  const endAll = () => {
    for (const limit of underWay) limit.abort();
  };
  closing.addEventListener('abort', endAll, { once: true });

  const once = async (call: Call) => {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), requestTimeoutMs);
    underWay.add(limit);
    try {
      const response = await transport.request(wireRequest(call, limit.signal));
      const body = await readBody(response);
      if (limit.signal.aborted) throw new ClientError('ABORTED', 'the answer was cut short');
      return { ...response, body };
    } catch (error) {
      if (closing.aborted) throw new ClientError('CLOSED', 'the client is closed', { cause: error });
      if (!limit.signal.aborted) throw error;
      const what = `${call.method} ${call.path.split('?', 1)[0]}`;
      const message = `the apiserver did not answer ${what} within ${requestTimeoutMs / 1000} s`;
      throw new ClientError('UNREACHABLE', message, { cause: error });
    } finally {
      clearTimeout(timer);
      underWay.delete(limit);
    }
  };

  return async (call) => {
    const backoff = new BackOff({ firstMs: 100, longestMs: 1_000, random: Math.random });
    let refused = 0;
    let lost = 0;
    for (;;) {
      if (closing.aborted) throw new ClientError('CLOSED', 'the client is closed');
      try {
        const { status, headers, body } = await once(call);
        if (status < 400) return body;
        const delayMs = retryAfterMs(status, headers);
        if (delayMs === undefined || refused++ >= retries) throw refusalOf(status, body);
        await wait(delayMs, closing);
      } catch (error) {
        // A write whose connection broke may have been done: only its caller can tell.
        const again =
          call.method === 'GET' && ClientError.is(error, 'UNREACHABLE') && lost++ < CONNECTION_RETRIES;
        if (!again) throw error;
        await wait(backoff.next(), closing);
      }
    }
  };
}

export function wireRequest(
  { method, path, body, contentType, accept = JSON_TYPE }: Call,
  signal: AbortSignal,
): TransportRequest {
  const type = contentType ?? JSON_TYPE;
  return {
    method,
    path,
    signal,
    headers: { accept, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

function retryAfterMs(status: number, headers: Readonly<Record<string, string>>): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const text = headers['retry-after'];
  const seconds = Number(text);
  if (text === undefined || !Number.isFinite(seconds) || seconds < 0) return undefined;
  return Math.min(seconds, LONGEST_RETRY_AFTER_S) * 1000;
}
