// A socket that relays for one port of a service, TCP or UDP.
// Guarantees: an endpoint that does not answer is tried no longer than its turn; closing ends every relayed connection.
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Endpoint, ServicePort } from '../mode.js';
import { Balancer } from './balancer.js';

export interface Relay {
  /** Where it listens for traffic that comes in, and for the node's own. */
  readonly port: number;
  readonly hostPort: number;
  readonly balancer: Balancer;
  close(): Promise<void>;
}

/** How long each try to reach an endpoint may take, as kube-proxy has them. */
const TRIES_MS = [250, 500, 1000, 2000];
/** After which a silent UDP client is forgotten (kube-proxy's --udp-timeout). */
const UDP_IDLE_MS = 250;
const MOST_UDP_CLIENTS = 4096;

export const openRelay = ({ protocol, family }: ServicePort): Promise<Relay> =>
  protocol === 'udp' ? relayUdp(family) : relayTcp(family);

async function relayTcp(family: 'ip' | 'ip6'): Promise<Relay> {
  const balancer = new Balancer();
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket));
    return socket;
  };
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, async (client) => {
    keep(client);
    const upstream = await reach(balancer, client.remoteAddress ?? '');
    if (upstream === undefined || client.destroyed) {
      upstream?.destroy();
      client.resetAndDestroy();
      return;
    }
    keep(upstream);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroySoon());
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, family === 'ip' ? '0.0.0.0' : '::');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    hostPort: port,
    balancer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** A connection to the client's endpoint, or to the next ones if that does not answer. */
async function reach(balancer: Balancer, client: string): Promise<Socket | undefined> {
  for (const timeoutMs of TRIES_MS) {
    const endpoint = balancer.pick(client, Date.now());
    if (endpoint === undefined) return undefined;
    const socket = await dial(endpoint, timeoutMs);
    if (socket !== undefined) return socket;
    balancer.failed(client);
  }
  return undefined;
}

function dial({ ip, port }: Endpoint, timeoutMs: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: ip, port, allowHalfOpen: true });
    const end = (result: Socket | undefined) => {
      clearTimeout(timer);
      socket.off('error', fail);
      if (result === undefined) socket.on('error', () => undefined).destroy();
      resolve(result);
    };
    const fail = () => end(undefined);
    const timer = setTimeout(fail, timeoutMs);
    socket.once('connect', () => end(socket)).once('error', fail);
  });
}

async function relayUdp(family: 'ip' | 'ip6'): Promise<Relay> {
  const balancer = new Balancer();
  // The node's own packets are redirected to loopback, and an answer must have that address as its source: a socket
  // for every address would answer with the one by which the client is reached.
  const faces = [
    await udpFace(family, balancer),
    await udpFace(family, balancer, family === 'ip' ? '127.0.0.1' : '::1'),
  ] as const;
  return {
    port: faces[0].port,
    hostPort: faces[1].port,
    balancer,
    close: async () => void (await Promise.all(faces.map((face) => face.close()))),
  };
}

/** One socket that clients send to, on one address or on all. */
async function udpFace(family: 'ip' | 'ip6', balancer: Balancer, address?: string) {
  const type = family === 'ip' ? 'udp4' : 'udp6';
  const clients = new Map<string, { socket: UdpSocket; timer: NodeJS.Timeout }>();
  const server = createSocket(type);
  const forget = (key: string) => {
    const known = clients.get(key);
    clients.delete(key);
    clearTimeout(known?.timer);
    known?.socket.close();
  };
  const upstreamOf = (from: RemoteInfo) => {
    const key = `${from.address} ${from.port}`;
    const known = clients.get(key);
    if (known !== undefined) {
      known.timer.refresh();
      return known.socket;
    }
    const endpoint = clients.size < MOST_UDP_CLIENTS ? balancer.pick(from.address, Date.now()) : undefined;
    if (endpoint === undefined) return undefined;
    const socket = createSocket(type);
    socket.on('error', () => forget(key));
    socket.on('message', (answer) => {
      clients.get(key)?.timer.refresh();
      server.send(answer, from.port, from.address, () => undefined);
    });
    socket.connect(endpoint.port, endpoint.ip);
    const timer = setTimeout(() => forget(key), UDP_IDLE_MS);
    timer.unref();
    clients.set(key, { socket, timer });
    return socket;
  };
  server.on('message', (message, from) => {
    const socket = upstreamOf(from);
    if (socket === undefined) return;
    const send = () => socket.send(message, () => undefined);
    try {
      socket.remoteAddress();
      send();
    } catch {
      socket.once('connect', send); // not connected yet: the first packet waits for it
    }
  });
  server.on('error', () => undefined);
  server.bind({ port: 0, ...(address === undefined ? {} : { address }) });
  await once(server, 'listening');
  return {
    port: server.address().port,
    close: async () => {
      for (const key of [...clients.keys()]) forget(key);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
