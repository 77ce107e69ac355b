// As much of an apiserver as kubectl needs to reach one pod through a kubelet, and a way into a node's network.
// Guarantees: passes bytes on and understands none of them; everything is closed by close().
import { spawn } from 'node:child_process';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import type { PemPair } from '../../../src/api/certificates/keyPair.js';
import type { Pod } from '../../../src/kubelet/ports.js';

const PODS = { name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs: ['get'] };
const DOCUMENTS: Readonly<Record<string, object>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
  '/api/v1': { kind: 'APIResourceList', groupVersion: 'v1', resources: [PODS] },
};
const SUBRESOURCE = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/(exec|attach|portforward|log)$/;

export interface LocalPort {
  readonly port: number;
  close(): Promise<void>;
}

/** Answers kubectl, and hands streams and logs to the kubelet at `kubeletPort`. */
export async function openKubectlServer(options: {
  readonly own: PemPair;
  readonly pod: Pod;
  readonly kubeletPort: number;
  /** With which the door shows itself to the kubelet. */
  readonly client: PemPair & { readonly ca: string };
}): Promise<LocalPort> {
  const { own, pod, kubeletPort, client } = options;
  const kubelet = { host: '127.0.0.1', port: kubeletPort, ...client };
  const sockets = new Set<Duplex>();
  const server = https.createServer(own, (request, response) => {
    const url = new URL(request.url ?? '/', 'https://x');
    const path = kubeletPath(url);
    if (path !== undefined) {
      const forward = https.get({ ...kubelet, path, agent: false }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      forward.on('error', () => response.destroy());
      return;
    }
    const isPod = url.pathname.endsWith(`/pods/${pod.metadata.name}`);
    const body = isPod ? pod : DOCUMENTS[url.pathname];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  });
  server.on('secureConnection', (socket) => sockets.add(socket));
  server.on('upgrade', (request, socket, head) => {
    const path = kubeletPath(new URL(request.url ?? '/', 'https://x')) ?? '/';
    const far = tls.connect(kubelet);
    sockets.add(far);
    const headers = request.rawHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
    far.write(`${request.method} ${path} HTTP/1.1\r\n${headers.join('')}\r\n`);
    far.write(head);
    for (const end of [far, socket]) end.on('error', () => [far, socket].map((one) => one.destroy()));
    far.pipe(socket).pipe(far);
  });
  return listening(server, sockets);
}

/** A port here that leads to a port of the loopback inside a network namespace. */
export function openPassage(netnsPath: string, port: number): Promise<LocalPort> {
  const sockets = new Set<Duplex>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    const argv = [`--net=${netnsPath}`, 'busybox', 'nc', '127.0.0.1', String(port)];
    const child = spawn('nsenter', argv, { stdio: ['pipe', 'pipe', 'ignore'] });
    socket.pipe(child.stdin);
    child.stdout.pipe(socket);
    socket.on('close', () => child.kill());
    for (const end of [socket, child.stdin, child.stdout]) end.on('error', () => socket.destroy());
  });
  return listening(server, sockets);
}

function kubeletPath({ pathname, searchParams, search }: URL): string | undefined {
  const [, namespace, pod, verb] = SUBRESOURCE.exec(pathname) ?? [];
  const place = `${namespace}/${pod}`;
  if (verb === 'log') return `/containerLogs/${place}/${searchParams.get('container') ?? 'main'}${search}`;
  if (verb === 'portforward') return `/portForward/${place}${search}`;
  return verb === undefined ? undefined : `/${verb}/${place}/${searchParams.get('container')}${search}`;
}

async function listening(server: net.Server, sockets: ReadonlySet<Duplex>): Promise<LocalPort> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
