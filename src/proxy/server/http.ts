// The small HTTP servers of a proxy: one function answers, the rest is here.
// Guarantees: only GET and HEAD; a request is answered from memory and never waits for anything.
import http from 'node:http';
import { type Listening, listen } from '../../client/listen.js';

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const REQUEST_TIMEOUT_MS = 10_000;

export async function openSmallServer(options: {
  readonly address: string;
  readonly port: number;
  answer(path: string): Answer;
}): Promise<Listening> {
  const server = http.createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const { status, body, headers } = isRead
      ? options.answer(path)
      : { status: 405, body: 'Method Not Allowed\n', headers: {} };
    response
      .writeHead(status, {
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
        ...headers,
      })
      .end(body);
  });
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  return listen(server, { host: options.address, port: options.port });
}

export const notFound: Answer = { status: 404, body: '404 page not found\n' };
export const json = (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer => ({
  status,
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json', ...headers },
});
