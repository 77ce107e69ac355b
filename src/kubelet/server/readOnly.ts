// The kubelet's read-only port, off by default: who reaches it needs no name, so it tells of pods and figures only.
// Guarantees: nothing but GET; neither logs nor configuration nor a way into a container is here.
import http from 'node:http';
import { type Listening, listen } from '../../client/listen.js';
import { pathOf } from './nodeRoutes.js';
import type { KubeletServerOptions } from './server.js';

const OTHERS = /^\/(stats\/summary|metrics|metrics\/(cadvisor|resource|probes))$/;

export async function openReadOnly(
  options: Pick<KubeletServerOptions, 'address' | 'port' | 'pods' | 'health' | 'others'>,
): Promise<Listening> {
  const { address, port, pods, health, others } = options;
  const server = http.createServer((request, response) => {
    const pathname = pathOf(request);
    const say = (status: number, words: string, type = 'text/plain; charset=utf-8') =>
      response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' }).end(words);
    if (request.method !== 'GET') say(405, 'only GET is answered on this port\n');
    else if (pathname === '/healthz') say(health?.() === undefined ? 200 : 500, health?.() ?? 'ok');
    else if (pathname === '/pods' || pathname === '/pods/') {
      const list = { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: pods.list() };
      say(200, JSON.stringify(list), 'application/json');
    } else if (!OTHERS.test(pathname) || others?.(request, response) !== true)
      say(404, '404 page not found\n');
  });
  return listen(server, { host: address, port });
}
