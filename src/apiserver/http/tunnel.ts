// What becomes of an Upgrade request: a tunnel between two sockets, or an ordinary refusal.
// Guarantees: when either side ends, the other is ended too; nothing is held open by one of them alone.
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ApiResponse, Tunnel } from '../exchange.js';
import { owned } from '../registry/frameChunks.js';

/** An answer to a wish for another protocol, such as a watch, is not for those who want to stay. */
const REFUSAL_MS = 60_000;

export function joinTunnel(
  client: Duplex,
  head: Buffer,
  response: ApiResponse,
  { socket, head: back }: Tunnel,
): void {
  client.write(headOf(response.status, response.headers));
  if (back.length > 0) client.write(back);
  if (head.length > 0) socket.write(head);
  const close = () => {
    client.destroy();
    socket.destroy();
  };
  for (const side of [client, socket]) side.on('error', close).once('close', close);
  client.pipe(socket);
  socket.pipe(client);
}

/** The connection left HTTP when it asked to be upgraded, so the answer is written by hand and the connection ended. */
export async function refuseUpgrade(client: Duplex, { status, headers, body }: ApiResponse): Promise<void> {
  const own = new Set(['connection', 'upgrade', 'content-length', 'transfer-encoding', 'keep-alive']);
  const kept = Object.entries(headers).filter(([name]) => !own.has(name));
  const head = Buffer.from(headOf(status, { ...Object.fromEntries(kept), connection: 'close' }));
  const pieces = Buffer.isBuffer(body) ? [body] : owned(body);
  // A pipeline waits for a client that reads slowly; one that does not read at all is given up.
  const stalled = setTimeout(() => client.destroy(), REFUSAL_MS);
  await pipeline(async function* () {
    yield head;
    yield* pieces;
  }, client).finally(() => clearTimeout(stalled));
}

function headOf(status: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, ' ')}`);
  return `${[`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines].join('\r\n')}\r\n\r\n`;
}
