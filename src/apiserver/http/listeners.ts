// The ports of an API server: the one with TLS, and a plain one on loopback where it is asked for.
// Guarantees: a port that cannot be had is told by name; closing ends every connection.
import type http from 'node:http';
import { type AddressInfo, BlockList, isIP } from 'node:net';
import type { Log } from '../../api/log.js';
import { ApiServerError, listenError } from '../error.js';
import type { Handler } from '../handler.js';
import type { UserInfo } from '../identity.js';
import { createHttpsServer, createInsecureServer, type TlsFiles } from './server.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Whoever reaches the insecure port, as Kubernetes called them. */
const UNSECURED_USER: UserInfo = {
  name: 'system:unsecured',
  groups: ['system:masters', 'system:authenticated'],
};

interface ListenOptions {
  readonly listen: Address;
  readonly insecure?: Address;
  readonly tls: TlsFiles;
  readonly log: Log;
}

export class Listeners {
  #server: http.Server | undefined;
  #plain: http.Server | undefined;

  /** Rejects when one of the ports cannot be had; the other is for `close` then. */
  async open({ listen, insecure, tls, log }: ListenOptions, handler: Handler): Promise<void> {
    this.#server = createHttpsServer({ tls, handler, log });
    await startListening(this.#server, listen);
    if (insecure === undefined) return;
    this.#plain = createInsecureServer({ handler, log, user: UNSECURED_USER });
    await startListening(this.#plain, insecure);
  }

  /** Of the server with TLS, which is open. */
  get port(): number {
    return portOf(this.#server) ?? 0;
  }

  get insecurePort(): number | undefined {
    return portOf(this.#plain);
  }

  /** Those that are open. */
  ports(): number[] {
    return [portOf(this.#server), portOf(this.#plain)].filter((port) => port !== undefined);
  }

  async close(): Promise<void> {
    await Promise.all([closeServer(this.#server), closeServer(this.#plain)]);
  }
}

const portOf = (server: http.Server | undefined): number | undefined =>
  server?.listening ? (server.address() as AddressInfo).port : undefined;

async function closeServer(server: http.Server | undefined): Promise<void> {
  if (!server?.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

async function startListening(server: http.Server, { host, port }: Address): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(listenError(host, port, cause)));
    server.listen({ host, port, backlog: 1024 }, resolve);
  });
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** A name is refused too: what it means can change. */
export function requireLoopback({ host }: Address): void {
  const family = isIP(host);
  if (family !== 0 && LOOPBACK.check(host, family === 6 ? 'ipv6' : 'ipv4')) return;
  throw new ApiServerError(
    'NOT_LOOPBACK',
    `the insecure port asks nobody who they are, so it opens on a loopback address only, not on ${host}`,
  );
}
