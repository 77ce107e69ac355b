// What becomes of an Upgrade request: a tunnel between two sockets, or an ordinary refusal.
// Guarantees: when either side ends, the other is ended too; nothing is held open by one of them alone.
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ApiResponse, Tunnel } from '../exchange.js';

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
  client.write(headOf(status, { ...Object.fromEntries(kept), connection: 'close' }));
  if (Buffer.isBuffer(body)) client.write(body);
  else for await (const chunk of body) client.write(chunk);
  client.end();
}

function headOf(status: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, ' ')}`);
  return `${[`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...lines].join('\r\n')}\r\n\r\n`;
}
