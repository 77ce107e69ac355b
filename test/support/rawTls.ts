// A client that speaks TLS and nothing more: what it sends and when is up to the test, right or wrong.
// Guarantees: errors of the connection end in `closed`, never in the test's process.
import { once } from 'node:events';
import tls from 'node:tls';
import type { ApiServerCommand } from './apiServerCommand.js';

export interface RawClient {
  readonly socket: tls.TLSSocket;
  /** All that was received so far. */
  received(): string;
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<void>;
}

export async function openRaw({ port, admin }: ApiServerCommand): Promise<RawClient> {
  const { ca, cert, key } = admin;
  const socket = tls.connect({ host: '127.0.0.1', port, ca, cert, key });
  const closed = new Promise<void>((resolve) => socket.on('error', () => {}).once('close', () => resolve()));
  await once(socket, 'secureConnect');
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  return { socket, closed, received: () => text };
}

/** Sends one text and answers all that comes back until the server ends the connection. */
export async function exchangeRaw(api: ApiServerCommand, text: string | Buffer): Promise<string> {
  const { socket, closed, received } = await openRaw(api);
  socket.write(text);
  await closed;
  return received();
}
