// The client's side of a WebSocket to an apiserver, for tests: messages as they come.
// Guarantees: the connection is closed when the reader is done, also early.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { TestApiServer } from './testApiServer.js';

const CLOSE = 8;
const FIN = 0x80;

interface Message {
  /** 1 for text, 2 for bytes. */
  readonly opcode: number;
  readonly text: string;
  /** In how many it came. */
  readonly frames: number;
}

/** Throws with the status when the server does not agree. */
export async function* webSocketMessages(
  { server, pki, admin }: TestApiServer,
  path: string,
  protocol: string,
): AsyncGenerator<Message> {
  const request = https.request({
    host: '127.0.0.1',
    port: server.port,
    path,
    ca: pki.ca,
    agent: false,
    ...admin,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16).toString('base64'),
      ...(protocol === '' ? {} : { 'sec-websocket-protocol': protocol }),
    },
  });
  request.end();
  const refused = once(request, 'response').then(([response]: IncomingMessage[]) => {
    response?.destroy();
    throw new Error(`refused with ${response?.statusCode}`);
  });
  const [response, socket, head] = (await Promise.race([once(request, 'upgrade'), refused])) as [
    IncomingMessage,
    Socket,
    Buffer,
  ];
  if ((response.headers['sec-websocket-protocol'] ?? '') !== protocol) throw new Error('another protocol');
  try {
    yield* frames(socket, head);
  } finally {
    socket.destroy();
  }
}

async function* frames(socket: Socket, head: Buffer): AsyncGenerator<Message> {
  let rest = Buffer.alloc(0);
  let message: { opcode: number; pieces: Buffer[] } | undefined;
  socket.unshift(head);
  for await (const chunk of socket) {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      if (rest.length < 2) break;
      const short = (rest[1] as number) & 0x7f;
      const at = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (rest.length < at) break;
      const length =
        short === 126 ? rest.readUInt16BE(2) : short === 127 ? Number(rest.readBigUInt64BE(2)) : short;
      if (rest.length < at + length) break;
      const opcode = (rest[0] as number) & 0x0f;
      if (opcode === CLOSE) return;
      message ??= { opcode, pieces: [] };
      message.pieces.push(rest.subarray(at, at + length));
      if (((rest[0] as number) & FIN) !== 0) {
        yield {
          opcode: message.opcode,
          text: Buffer.concat(message.pieces).toString(),
          frames: message.pieces.length,
        };
        message = undefined;
      }
      rest = rest.subarray(at + length);
    }
  }
}
