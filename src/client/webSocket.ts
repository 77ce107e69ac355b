// The server's side of a WebSocket (RFC 6455) on a socket that has asked for one: whole messages in and out.
// Guarantees: a frame that breaks the protocol ends the connection with its code; no message grows past the limit.
import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const MAX_MESSAGE = 16 * 1024 * 1024;
const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10];
const FIN = 0x80;
const MASKED = 0x80;
export const NORMAL_CLOSURE = 1000;
const PROTOCOL_ERROR = 1002;
const TOO_BIG = 1009;

export interface WebSocketHandlers {
  message(bytes: Buffer): void;
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

export class WebSocket {
  private rest: Buffer = Buffer.alloc(0);
  private pieces: Buffer[] = [];
  private size = 0;
  private isOver = false;
  private handlers: WebSocketHandlers | undefined;

  constructor(readonly socket: Duplex) {}

  /** Begins to read; `head` is what came with the request. */
  listen(handlers: WebSocketHandlers, head: Buffer): void {
    this.handlers = handlers;
    this.socket.on('data', (chunk: Buffer) => this.read(chunk));
    this.socket.on('error', () => this.socket.destroy());
    this.socket.on('close', () => {
      this.isOver = true;
      handlers.closed();
    });
    this.socket.on('end', () => this.close(NORMAL_CLOSURE));
    if (head.length > 0) this.read(head);
  }

  /** False when the caller reads slower than it is written to: wait for the socket's drain. */
  send(...parts: readonly Buffer[]): boolean {
    return this.isOver || this.write(BINARY, parts);
  }

  /** As `send`, for a message that is text. */
  sendText(text: Buffer): boolean {
    return this.isOver || this.write(TEXT, [text]);
  }

  close(code: number): void {
    if (this.isOver) return;
    const body = Buffer.alloc(2);
    body.writeUInt16BE(code);
    this.write(CLOSE, [body]);
    this.isOver = true;
    this.socket.end();
  }

  private write(opcode: number, parts: readonly Buffer[]): boolean {
    const length = parts.reduce((sum, { length: one }) => sum + one, 0);
    this.socket.cork();
    let flowing = this.socket.write(frameHead(opcode, length));
    for (const part of parts) flowing = this.socket.write(part);
    this.socket.uncork();
    return flowing;
  }

  private read(chunk: Buffer): void {
    if (this.isOver) return;
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    for (;;) {
      const frame = this.next();
      if (frame === undefined) return;
      this.take(frame.first, frame.body);
      if (this.isOver) return;
    }
  }

  /** The next whole frame, its mask taken off. */
  private next(): { readonly first: number; readonly body: Buffer } | undefined {
    const { rest } = this;
    const [first, second] = rest;
    if (first === undefined || second === undefined) return undefined;
    // A client masks every frame (5.1); the reserved bits belong to extensions, of which none was agreed.
    if ((second & MASKED) === 0 || (first & 0x70) !== 0) return this.fail(PROTOCOL_ERROR);
    const { length, at } = lengthOf(rest, second & 0x7f);
    if (length === undefined) return undefined;
    if (length > MAX_MESSAGE) return this.fail(TOO_BIG);
    const begin = at + 4;
    if (rest.length < begin + length) return undefined;
    const mask = rest.subarray(at, begin);
    const body = Buffer.from(rest.subarray(begin, begin + length));
    for (let i = 0; i < length; i++) body[i] = (body[i] as number) ^ (mask[i & 3] as number);
    this.rest = rest.subarray(begin + length);
    return { first, body };
  }

  private take(first: number, body: Buffer): void {
    const opcode = first & 0x0f;
    const isLast = (first & FIN) !== 0;
    if (opcode === PING) this.write(PONG, [body]);
    else if (opcode === PONG) return;
    else if (opcode === CLOSE) this.close(body.length >= 2 ? body.readUInt16BE() : NORMAL_CLOSURE);
    else if (opcode === CONTINUATION ? this.pieces.length === 0 : opcode !== TEXT && opcode !== BINARY)
      this.fail(PROTOCOL_ERROR);
    else this.gather(body, isLast);
  }

  private gather(body: Buffer, isLast: boolean): void {
    this.pieces.push(body);
    this.size += body.length;
    if (this.size > MAX_MESSAGE) this.fail(TOO_BIG);
    else if (isLast) {
      const message = this.pieces.length === 1 ? body : Buffer.concat(this.pieces);
      this.pieces = [];
      this.size = 0;
      this.handlers?.message(message);
    }
  }

  private fail(code: number): undefined {
    this.close(code);
    return undefined;
  }
}

/** Where the mask begins, and how long the body is; no length while it has not come whole. */
function lengthOf(
  bytes: Buffer,
  short: number,
): { readonly length: number | undefined; readonly at: number } {
  if (short < 126) return { length: short, at: 2 };
  if (short === 126) return { length: bytes.length < 4 ? undefined : bytes.readUInt16BE(2), at: 4 };
  return { length: bytes.length < 10 ? undefined : Number(bytes.readBigUInt64BE(2)), at: 10 };
}

function frameHead(opcode: number, length: number): Buffer {
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = FIN | opcode;
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
