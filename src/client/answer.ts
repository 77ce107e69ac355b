// Reading what an apiserver answers: a JSON body, a Status, or the lines of a watch.
// Guarantees: a refusal becomes ApiError even when the body is not a Status (a proxy's page); a line is never cut.
import type { V1Status } from '../api/gen/types.js';
import { ApiError } from '../api/status.js';
import { messageOf } from '../base/errorMessage.js';
import { ClientError } from './error.js';
import type { TransportResponse } from './transport.js';

/** An object is at most a few megabytes; a longer line is no event, and must not fill the memory. */
const LONGEST_LINE = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

export async function readBody({ body }: TransportResponse): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function decode<T>(bytes: Uint8Array, what: string): T {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')) as T;
  } catch (cause) {
    throw new ClientError('BAD_ANSWER', `${what} is not JSON: ${messageOf(cause)}`, { cause });
  }
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

export function refusalOf(code: number, body: Uint8Array): ApiError {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  const status = parseStatus(text);
  if (status !== undefined) return new ApiError({ ...status, code: status.code ?? code });
  const message = text.trim().slice(0, 512) || `the server answered ${code}`;
  return new ApiError({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    message,
    reason: REASONS[code] ?? 'InternalError',
  });
}

function parseStatus(text: string): V1Status | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isStatus = typeof value === 'object' && value !== null && (value as V1Status).kind === 'Status';
    return isStatus ? (value as V1Status) : undefined;
  } catch {
    return undefined;
  }
}

/** The lines of a streamed body, as bytes and without their newlines; empty lines are left out. */
export async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  // FrameChunks are joined only when their newline has come: a long line costs one copy, not one a chunk.
  let pieces: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const tail = chunk.subarray(start, end);
      const line = held === 0 ? tail : Buffer.concat([...pieces, tail]);
      pieces = [];
      held = 0;
      start = end + 1;
      if (line.length > 0) yield line;
    }
    if (start < chunk.length) {
      pieces.push(chunk.subarray(start));
      held += chunk.length - start;
    }
    if (held > LONGEST_LINE) throw new ClientError('BAD_ANSWER', 'a line of the watch is longer than 64 MiB');
  }
  if (held > 0) throw new ClientError('BAD_ANSWER', 'the watch ended in the middle of an event');
}
