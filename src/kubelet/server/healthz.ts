// The kubelet's health on 10248, for the machine itself unless another address is given.
// Guarantees: says nothing but whether it is well.
import http from 'node:http';
import { type Listening, listen } from '../../client/listen.js';

/** `health` answers what is wrong, or undefined. Port 0 for any that is free. */
export async function openHealthz(options: {
  readonly port: number;
  readonly address: string;
  readonly health: () => string | undefined;
}): Promise<Listening> {
  const { port, address, health } = options;
  const server = http.createServer((request, response) => {
    const known = request.url === '/healthz' || request.url?.startsWith('/healthz?');
    const problem = known ? health() : undefined;
    const status = known ? (problem === undefined ? 200 : 500) : 404;
    const body = known ? (problem ?? 'ok') : '404 page not found\n';
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(body);
  });
  return listen(server, { host: address, port });
}
