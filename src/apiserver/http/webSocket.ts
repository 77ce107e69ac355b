// Logs and watches over a WebSocket, for clients such as browsers that cannot read an answer as it comes.
// Guarantees: a message is a piece of the log or one event, of which a large one leaves in fragments; nothing but one piece is
// held for a reader, who is waited for and whose leaving ends the answer; however often, nothing is left listening.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { NORMAL_CLOSURE, WebSocket, webSocketHead } from '../../client/webSocket.js';
import { type ApiResponse, JSON_TYPE } from '../exchange.js';
import { LARGE_PIECE } from '../registry/frameChunks.js';
import { settled } from './settled.js';

const INTERNAL_ERROR = 1011;
const NEWLINE = 0x0a;
const BASE64 = 'base64.binary.k8s.io';
/** In the order in which they are preferred; none at all means bytes as they are. */
const PROTOCOLS = ['binary.k8s.io', BASE64];

type Stream = AsyncIterable<Uint8Array>;

interface WebSocketAnswer {
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
  channel.listen({ piece: () => {}, closed: () => {} }, head); // nothing is expected of the client
  const isBase64 = protocol === BASE64;
  const sender = new Sender(channel, { isText: isBase64 || type.startsWith(JSON_TYPE), isBase64 });
  const parts = type.startsWith(JSON_TYPE) ? eventParts : pieceParts;
  try {
    for await (const part of parts(body)) {
      if (socket.destroyed) return;
      await sender.send(part);
    }
    channel.close(NORMAL_CLOSURE);
  } catch (error) {
    channel.close(INTERNAL_ERROR);
    throw error;
  }
}

interface MessagePart {
  readonly bytes: Uint8Array;
  /** Of its message. */
  readonly isLast: boolean;
  /** The last of a large piece, whose memory is used again for the next. */
  readonly isAwaited: boolean;
}

async function* pieceParts(body: Stream): AsyncGenerator<MessagePart> {
  for await (const bytes of body) yield { bytes, isLast: true, isAwaited: bytes.length >= LARGE_PIECE };
}

/** Events are lines; a piece may hold several, or a part of one. */
async function* eventParts(body: Stream): AsyncGenerator<MessagePart> {
  let isOpen = false;
  for await (const piece of body) {
    for (let start = 0; start < piece.length; ) {
      const end = piece.indexOf(NEWLINE, start);
      const isLast = end !== -1;
      const bytes = piece.subarray(start, isLast ? end : undefined);
      start = isLast ? end + 1 : piece.length;
      const isAwaited = start === piece.length && piece.length >= LARGE_PIECE;
      if (bytes.length > 0 || isOpen) yield { bytes, isLast, isAwaited };
      isOpen = !isLast;
    }
  }
}

/** Base64 is made of three bytes at a time. */
const GROUP = 3;
const BASE64_STEP = 16 * 1024;

class Sender {
  readonly #channel: WebSocket;
  readonly #form: { readonly isText: boolean; readonly isBase64: boolean };

  #isFirst = true;
  /** Of a message in base64, until the bytes that complete its group come. */
  #carried: Buffer = Buffer.alloc(0);

  constructor(channel: WebSocket, form: { readonly isText: boolean; readonly isBase64: boolean }) {
    this.#channel = channel;
    this.#form = form;
  }

  /** Resolves when the next may be sent, and the memory of these bytes be used again. */
  async send({ bytes, isLast, isAwaited }: MessagePart): Promise<void> {
    if (!this.#form.isBase64) return this.#write(bytes, { isLast, isAwaited });
    // In small steps: the piece, its text and what TLS makes of that are all held until the client reads.
    for (let at = 0; at === 0 || at < bytes.length; at += BASE64_STEP) {
      if (this.#channel.socket.destroyed) return;
      const isEnd = isLast && at + BASE64_STEP >= bytes.length;
      const text = this.#encoded(bytes.subarray(at, at + BASE64_STEP), isEnd);
      await this.#write(text, { isLast: isEnd, isAwaited: false });
    }
  }

  async #write(bytes: Uint8Array, { isLast, isAwaited }: Omit<MessagePart, 'bytes'>): Promise<void> {
    const channel = this.#channel;
    const { socket } = channel;
    const part = { isText: this.#form.isText, isFirst: this.#isFirst, isLast };
    this.#isFirst = isLast;
    if (isAwaited) await settled(socket, (done) => channel.sendPart(bytes, part, done));
    else if (!channel.sendPart(bytes, part)) await settled(socket, (done) => socket.once('drain', done));
  }

  #encoded(bytes: Uint8Array, isLast: boolean): Buffer {
    const all = Buffer.concat([this.#carried, bytes]);
    const end = isLast ? all.length : all.length - (all.length % GROUP);
    this.#carried = Buffer.from(all.subarray(end));
    return Buffer.from(all.toString('base64', 0, end));
  }
}
