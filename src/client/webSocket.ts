// The server's side of a WebSocket (RFC 6455) on a socket that has asked for one: messages in and out, in pieces.
// Guarantees: a frame that breaks the protocol ends the connection with its code; nothing of a message is held, in or out; of
// pings that a client sends without reading, the newest is answered.
import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** 5.5: of a control frame. */
const MAX_CONTROL = 125;
const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10];
const FIN = 0x80;
const MASKED = 0x80;
export const NORMAL_CLOSURE = 1000;
const PROTOCOL_ERROR = 1002;

interface WebSocketHandlers {
  /** Some bytes of a message, as they come; true with the first of each. An empty message is none. */
  piece(bytes: Buffer, isFirst: boolean): void;
  /** Once, whoever ended it. */
  closed(): void;
}

/** The lines that agree to the switch; `key` is the caller's Sec-WebSocket-Key, `protocol` empty when none was asked for. */
export function webSocketHead(key: string, protocol: string): string {
  const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64');
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    ...(protocol === '' ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    '\r\n',
  ].join('\r\n');
}

/** Of a message that is sent in several. */
interface Part {
  readonly isText: boolean;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

interface Frame {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly mask: Buffer;
  /** Bytes that have not come yet. */
  left: number;
  /** Where in the mask the next byte is. */
  at: number;
}

export class WebSocket {
  /** Of a frame's head that has not come whole. */
  #rest: Buffer = Buffer.alloc(0);
  #frame: Frame | undefined;
  #control: Buffer = Buffer.alloc(0);
  /** A message is under way, and whether any of it has come. */
  #inMessage = false;
  #isFirst = true;
  #owedPong: Buffer | undefined;
  #isOver = false;
  #handlers: WebSocketHandlers | undefined;

  constructor(readonly socket: Duplex) {}

  /** Begins to read; `head` is what came with the request. */
  listen(handlers: WebSocketHandlers, head: Buffer): void {
    this.#handlers = handlers;
    this.socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.socket.on('error', () => this.socket.destroy());
    this.socket.on('close', () => {
      this.#isOver = true;
      handlers.closed();
    });
    this.socket.on('end', () => this.close(NORMAL_CLOSURE));
    if (head.length > 0) this.#read(head);
  }

  /** False when the caller reads slower than it is written to: wait for the socket's drain. */
  send(...parts: readonly Buffer[]): boolean {
    return this.#isOver || this.#write(FIN | BINARY, parts);
  }

  /** A part of a message. `done` is called when its memory may change. */
  sendPart(bytes: Uint8Array, { isText, isFirst, isLast }: Part, done?: () => void): boolean {
    if (this.#isOver) {
      done?.();
      return true;
    }
    const opcode = isFirst ? (isText ? TEXT : BINARY) : CONTINUATION;
    return this.#write((isLast ? FIN : 0) | opcode, [bytes], done);
  }

  close(code: number): void {
    if (this.#isOver) return;
    const body = Buffer.alloc(2);
    body.writeUInt16BE(code);
    this.#write(FIN | CLOSE, [body]);
    this.#isOver = true;
    this.socket.end();
  }

  #write(first: number, parts: readonly Uint8Array[], done?: () => void): boolean {
    const length = parts.reduce((sum, { length: one }) => sum + one, 0);
    this.socket.cork();
    let flowing = this.socket.write(frameHead(first, length));
    parts.forEach((part, index) => {
      flowing = this.socket.write(part, index === parts.length - 1 ? done : undefined);
    });
    this.socket.uncork();
    return flowing;
  }

  #read(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = Buffer.alloc(0);
    while (!this.#isOver) {
      if (this.#frame === undefined) {
        const begin = this.#begin(bytes);
        if (begin === undefined) break;
        bytes = bytes.subarray(begin);
      }
      const frame = this.#frame;
      if (frame === undefined || (bytes.length === 0 && frame.left > 0)) break;
      const body = unmasked(bytes.subarray(0, frame.left), frame);
      bytes = bytes.subarray(body.length);
      if (frame.left === 0) this.#frame = undefined;
      this.#take(frame, body);
    }
  }

  /** Reads a frame's head; answers its length, or undefined while it has not come whole or when it is wrong. */
  #begin(bytes: Buffer): number | undefined {
    const [first, second] = bytes;
    if (first === undefined || second === undefined) return this.#wait(bytes);
    const opcode = first & 0x0f;
    const isLast = (first & FIN) !== 0;
    const short = second & 0x7f;
    const isControl = opcode >= CLOSE;
    const isKnown = isControl
      ? opcode <= PONG && isLast && short <= MAX_CONTROL
      : opcode === CONTINUATION
        ? this.#inMessage
        : opcode <= BINARY && !this.#inMessage;
    // A client masks every frame (5.1); the reserved bits belong to extensions, of which none was agreed.
    if ((second & MASKED) === 0 || (first & 0x70) !== 0 || !isKnown) {
      this.close(PROTOCOL_ERROR);
      return undefined;
    }
    const size = short === 127 ? 14 : short === 126 ? 8 : 6;
    if (bytes.length < size) return this.#wait(bytes);
    const left =
      short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
    if (!isControl && opcode !== CONTINUATION) this.#isFirst = true;
    if (!isControl) this.#inMessage = true;
    this.#frame = { opcode, isLast, left, at: 0, mask: Buffer.from(bytes.subarray(size - 4, size)) };
    return size;
  }

  #wait(bytes: Buffer): undefined {
    this.#rest = Buffer.from(bytes);
    return undefined;
  }

  #take({ opcode, isLast, left }: Frame, body: Buffer): void {
    if (opcode >= CLOSE) {
      this.#control = Buffer.concat([this.#control, body]);
      if (left > 0) return;
      const control = this.#control;
      this.#control = Buffer.alloc(0);
      if (opcode === PING) this.#pong(control);
      else if (opcode === CLOSE) this.close(control.length >= 2 ? control.readUInt16BE() : NORMAL_CLOSURE);
      return;
    }
    if (left === 0 && isLast) this.#inMessage = false;
    if (body.length === 0) return;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#handlers?.piece(body, isFirst);
  }

  /** To one who does not read, an answer to the newest is enough (5.5.3): they would pile up. */
  #pong(body: Buffer): void {
    if (!this.socket.writableNeedDrain) {
      this.#write(FIN | PONG, [body]);
      return;
    }
    if (this.#owedPong === undefined)
      this.socket.once('drain', () => {
        const owed = this.#owedPong;
        this.#owedPong = undefined;
        if (owed !== undefined && !this.#isOver) this.#write(FIN | PONG, [owed]);
      });
    this.#owedPong = body;
  }
}

/** A copy without its mask; moves the frame on by as much. */
function unmasked(bytes: Buffer, frame: Frame): Buffer {
  const body = Buffer.from(bytes);
  const { mask, at } = frame;
  for (let i = 0; i < body.length; i++) body[i] = (body[i] as number) ^ (mask[(at + i) & 3] as number);
  frame.left -= body.length;
  frame.at = (at + body.length) & 3;
  return body;
}

function frameHead(first: number, length: number): Buffer {
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  if (length < 126) head[1] = length;
  else if (length < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return head;
}
