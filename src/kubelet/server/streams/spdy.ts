// As much of SPDY/3.1 as a client of a runtime's streaming server needs: streams that it opens itself, data both ways.
// Guarantees: streams are told apart; a ping is answered; headers that come back are skipped, as nothing here reads them.
import type { Duplex } from 'node:stream';

const CONTROL = 0x8000;
const VERSION = 3;
const [SYN_STREAM, RST_STREAM, PING] = [1, 3, 6];
const FIN = 0x01;
const HEAD = 8;

interface SpdyHandlers {
  /** `stream` as `open` answered it. */
  data(stream: number, bytes: Buffer): void;
  /** The other side sends no more on it. */
  ended(stream: number): void;
  /** Once, whoever ended the connection. */
  closed(): void;
}

export class SpdyClient {
  #rest: Buffer = Buffer.alloc(0);
  #nextId = 1;

  constructor(readonly socket: Duplex) {}

  /** Begins to read; `head` is what came with the answer to the upgrade. */
  listen(handlers: SpdyHandlers, head: Buffer): void {
    this.socket.on('data', (chunk: Buffer) => this.#read(chunk, handlers));
    this.socket.on('error', () => this.socket.destroy());
    this.socket.on('close', () => handlers.closed());
    if (head.length > 0) this.#read(head, handlers);
  }

  /** Names of headers are in lower case: others are refused. */
  open(headers: Readonly<Record<string, string>>): number {
    const isFirst = this.#nextId === 1;
    const id = this.#nextId;
    this.#nextId += 2;
    const block = storedHeaders(headers, isFirst);
    const frame = Buffer.alloc(HEAD + 10);
    writeControl(frame, SYN_STREAM, 10 + block.length);
    frame.writeUInt32BE(id, HEAD);
    this.socket.write(Buffer.concat([frame, block]));
    return id;
  }

  /** False when the runtime reads slower than it is written to: wait for the socket's drain. */
  send(stream: number, bytes: Buffer): boolean {
    return this.#write(stream, 0, bytes);
  }

  /** No more comes on this stream. */
  end(stream: number): void {
    this.#write(stream, FIN, Buffer.alloc(0));
  }

  #write(stream: number, flags: number, bytes: Buffer): boolean {
    const head = Buffer.alloc(HEAD);
    head.writeUInt32BE(stream, 0);
    head.writeUInt32BE(bytes.length, 4);
    head[4] = flags;
    this.socket.cork();
    this.socket.write(head);
    const flowing = this.socket.write(bytes);
    this.socket.uncork();
    return flowing;
  }

  #read(chunk: Buffer, handlers: SpdyHandlers): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= HEAD) {
      const length = this.#rest.readUIntBE(5, 3);
      if (this.#rest.length < HEAD + length) return;
      const head = this.#rest.subarray(0, HEAD);
      const body = this.#rest.subarray(HEAD, HEAD + length);
      this.#rest = this.#rest.subarray(HEAD + length);
      if ((head.readUInt16BE() & CONTROL) === 0) this.#takeData(head, body, handlers);
      else this.#takeControl(head.readUInt16BE(2), body, handlers);
    }
  }

  #takeData(head: Buffer, body: Buffer, handlers: SpdyHandlers): void {
    const stream = head.readUInt32BE();
    if (body.length > 0) handlers.data(stream, body);
    if (((head[4] ?? 0) & FIN) !== 0) handlers.ended(stream);
  }

  #takeControl(type: number, body: Buffer, handlers: SpdyHandlers): void {
    if (type === PING) {
      const frame = Buffer.alloc(HEAD);
      writeControl(frame, PING, body.length);
      this.socket.write(Buffer.concat([frame, body]));
    } else if (type === RST_STREAM && body.length >= 4) handlers.ended(body.readUInt32BE());
  }
}

function writeControl(frame: Buffer, type: number, length: number): void {
  frame.writeUInt16BE(CONTROL | VERSION, 0);
  frame.writeUInt16BE(type, 2);
  frame.writeUInt32BE(length, 4);
}

/**
 * Header blocks are one zlib stream over the whole connection. Stored blocks (RFC 1951, 3.2.4) need no compressor; the
 * empty one at the end is what a flush writes, and tells the reader to hand out what it has.
 */
function storedHeaders(headers: Readonly<Record<string, string>>, isFirst: boolean): Buffer {
  const entries = Object.entries(headers);
  const pairs = Buffer.concat([
    uint32(entries.length),
    ...entries.flat().flatMap((text) => [uint32(Buffer.byteLength(text)), Buffer.from(text)]),
  ]);
  const block = Buffer.alloc(5);
  block.writeUInt16LE(pairs.length, 1);
  block.writeUInt16LE(~pairs.length & 0xffff, 3);
  return Buffer.concat([isFirst ? ZLIB_HEAD : Buffer.alloc(0), block, pairs, FLUSH]);
}

const ZLIB_HEAD = Buffer.from([0x78, 0x01]);
const FLUSH = Buffer.from([0, 0, 0, 0xff, 0xff]);

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
