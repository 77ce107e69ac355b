// The transport for clients in the same process: the same handler, without a socket between.
// Guarantees: authorization and admission apply as over the wire; the caller is who it was opened for.
import { setMaxListeners } from 'node:events';
import type { Transport, TransportRequest, TransportResponse } from '../client/transport.js';
import type { Check } from '../store/store.js';
import type { Body } from './exchange.js';
import type { Handler } from './handler.js';
import type { UserInfo } from './identity.js';
import { owned } from './registry/frameChunks.js';

/** With a term, what is written is checked against it. */
export function openInProcess(handler: Handler, user: UserInfo, term?: Check): Transport {
  const closed = new AbortController();
  // Every open watch listens to it; there is no number at which that is a leak.
  setMaxListeners(0, closed.signal);
  return {
    async request(request) {
      closed.signal.throwIfAborted();
      request.signal?.throwIfAborted();
      return answer(handler, { user, term, closed: closed.signal }, request);
    },
    close: () => closed.abort(),
  };
}

interface Caller {
  readonly user: UserInfo;
  readonly term: Check | undefined;
  readonly closed: AbortSignal;
}

async function answer(
  handler: Handler,
  { closed, ...caller }: Caller,
  { method, path, headers, body, signal, isAllowed, takesObjects = false }: TransportRequest,
): Promise<TransportResponse> {
  const lower = Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body ?? []);
  let either: AbortSignal | undefined;
  const response = await handler({
    method,
    url: path,
    headers: lower,
    credentials: {},
    ...caller,
    takesObjects,
    body: async () => bytes,
    // Few ask for it, and it costs more than most of a request.
    get signal() {
      either ??= signal === undefined ? closed : AbortSignal.any([closed, signal]);
      return either;
    },
    isAllowed: () => !closed.aborted && signal?.aborted !== true && isAllowed?.() !== false,
  });
  const { status, events } = response;
  const answered = { status, headers: response.headers, body: iterate(response.body) };
  return events === undefined ? answered : { ...answered, events };
}

async function* iterate(body: Body): AsyncGenerator<Uint8Array> {
  if (Buffer.isBuffer(body)) yield body;
  else yield* owned(body);
}
