// Logs and watches over a WebSocket, for clients such as browsers that cannot read an answer as it comes.
// Guarantees: a message is a piece of the log or one whole event; a slow reader is waited for, and its leaving ends the answer.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { linesOf } from '../../client/answer.js';
import { NORMAL_CLOSURE, WebSocket, webSocketHead } from '../../client/webSocket.js';
import { type ApiResponse, JSON_TYPE } from '../exchange.js';
import { owned } from '../registry/pieces.js';

const INTERNAL_ERROR = 1011;
const BASE64 = 'base64.binary.k8s.io';
/** In the order in which they are preferred; none at all means bytes as they are. */
const PROTOCOLS = ['binary.k8s.io', BASE64];

type Stream = AsyncIterable<Uint8Array>;

export interface WebSocketAnswer {
  readonly key: string;
  readonly protocol: string;
  readonly type: string;
  readonly body: Stream;
}

/** What to send, when a stream was asked for over a WebSocket in words that are known. */
export function webSocketAnswer(
  { headers }: IncomingMessage,
  response: ApiResponse,
): WebSocketAnswer | undefined {
  const key = headers['sec-websocket-key'];
  const { status, body, ends = false } = response;
  if (headers.upgrade?.toLowerCase() !== 'websocket' || key === undefined || status !== 200) return undefined;
  if (ends || !(Symbol.asyncIterator in body)) return undefined;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  const protocol = offered.join('') === '' ? '' : PROTOCOLS.find((one) => offered.includes(one));
  return protocol === undefined
    ? undefined
    : { key, protocol, type: response.headers['content-type'] ?? '', body: body as Stream };
}

export async function sendOverWebSocket(
  socket: Duplex,
  head: Buffer,
  { key, protocol, type, body }: WebSocketAnswer,
): Promise<void> {
  socket.write(webSocketHead(key, protocol));
  const channel = new WebSocket(socket);
  channel.listen({ message: () => {}, closed: () => {} }, head); // nothing is expected of the client
  const isEvents = type.startsWith(JSON_TYPE);
  const send = (piece: Buffer) => {
    if (protocol === BASE64) return channel.sendText(Buffer.from(piece.toString('base64')));
    return isEvents ? channel.sendText(piece) : channel.send(piece);
  };
  try {
    for await (const piece of isEvents ? linesOf(owned(body)) : body) {
      if (socket.destroyed) return;
      if (!send(Buffer.from(piece))) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
    }
    channel.close(NORMAL_CLOSURE);
  } catch (error) {
    channel.close(INTERNAL_ERROR);
    throw error;
  }
}
