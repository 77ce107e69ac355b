// The transport for clients in the same process: the same handler, without a socket between.
// Guarantees: authorization and admission apply as over the wire; the caller is who it was opened for.
import { setMaxListeners } from 'node:events';
import type { Transport, TransportRequest, TransportResponse } from '../client/transport.js';
import type { Check } from '../store/store.js';
import type { Body } from './exchange.js';
import type { Handler } from './handler.js';
import type { UserInfo } from './identity.js';
import { owned } from './registry/pieces.js';

/** With a term, what is written is checked against it. */
export function openInProcess(handler: Handler, user: UserInfo, term?: Check): Transport {
  const closed = new AbortController();
  // Every open watch listens to it; there is no number at which that is a leak.
  setMaxListeners(0, closed.signal);
  return {
    async request(request) {
      const signal =
        request.signal === undefined ? closed.signal : AbortSignal.any([closed.signal, request.signal]);
      signal.throwIfAborted();
      return answer(handler, { user, term, signal }, request);
    },
    close: () => closed.abort(),
  };
}

async function answer(
  handler: Handler,
  caller: { readonly user: UserInfo; readonly term: Check | undefined; readonly signal: AbortSignal },
  { method, path, headers, body, isAllowed }: TransportRequest,
): Promise<TransportResponse> {
  const lower = Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body ?? []);
  const response = await handler({
    method,
    url: path,
    headers: lower,
    credentials: {},
    ...caller,
    body: async () => bytes,
    isAllowed: () => !caller.signal.aborted && isAllowed?.() !== false,
  });
  return { status: response.status, headers: response.headers, body: iterate(response.body) };
}

async function* iterate(body: Body): AsyncGenerator<Uint8Array> {
  if (Buffer.isBuffer(body)) yield body;
  else yield* owned(body);
}
