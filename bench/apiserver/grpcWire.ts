// A lean gRPC client, as lean as Wire: one TLS connection, one call at a time, answers counted but not understood.
// Guarantees: a call counts when a message and the end of its stream came; a refusal has no message and fails.
import { type Answer, LeanConnection, openSocket } from './leanConnection.js';
import type { Place } from './testbed.js';

const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8];
const [END_STREAM, ACK, END_HEADERS] = [0x1, 0x1, 0x4];
const HEAD_SIZE = 9;
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** Answers of a whole benchmark fit, so no window has to be widened on the way. */
const WINDOW = Buffer.from([0x3f, 0xff, 0xff, 0xff]);

export class GrpcWire extends LeanConnection {
  #rest: Buffer = Buffer.alloc(0);
  #stream = -1;
  #received = 0;

  static async open(place: Place, port: number): Promise<GrpcWire> {
    const socket = await openSocket(place, port, 'h2');
    socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0), frame(WINDOW_UPDATE, 0, WINDOW)]));
    return new GrpcWire(socket);
  }

  /** `call` is one of grpcCall; its stream is written into it here. */
  override ask(call: Buffer): Promise<Answer> {
    this.#received = 0;
    this.#stream += 2;
    call.writeUInt32BE(this.#stream, 5);
    call.writeUInt32BE(this.#stream, HEAD_SIZE + call.readUIntBE(0, 3) + 5);
    return super.ask(call);
  }

  protected override take(piece: Buffer): void {
    let bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    while (bytes.length >= HEAD_SIZE) {
      const end = HEAD_SIZE + bytes.readUIntBE(0, 3);
      if (bytes.length < end) break;
      this.#see(bytes[3] ?? 0, bytes[4] ?? 0, bytes.subarray(HEAD_SIZE, end));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }

  #see(type: number, flags: number, payload: Buffer): void {
    if (type === DATA) this.#received += payload.length;
    else if (type === HEADERS && (flags & END_STREAM) !== 0)
      this.done?.({ status: this.#received > 0 ? 200 : 500, bytes: this.#received });
    else if (type === SETTINGS && (flags & ACK) === 0) this.socket.write(frame(SETTINGS, ACK));
    else if (type === PING && (flags & ACK) === 0) this.socket.write(frame(PING, ACK, payload));
    else if (type === RST_STREAM || type === GOAWAY) this.fail?.(new Error('the server ended the stream'));
  }
}

function frame(type: number, flags: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEAD_SIZE);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  return Buffer.concat([head, payload]);
}

/** A header that no table remembers (RFC 7541, 6.2.2); `name` is a text or its number in the static table. */
function literal(name: string | number, value: string): Buffer {
  const text = (one: string) => [Buffer.from([one.length]), Buffer.from(one)];
  const named = typeof name === 'number' ? [Buffer.from([name])] : [Buffer.from([0]), ...text(name)];
  return Buffer.concat([...named, ...text(value)]);
}

const [AUTHORITY, PATH, POST_HTTPS] = [1, 4, Buffer.from([0x83, 0x87])];

/** The whole of a call, ready to be sent: its headers, and its message in one frame. */
export function grpcCall(path: string, message: Buffer): Buffer {
  const headers = [
    POST_HTTPS,
    literal(PATH, path),
    literal(AUTHORITY, 'localhost'),
    literal('content-type', 'application/grpc'),
    literal('te', 'trailers'),
  ];
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([
    frame(HEADERS, END_HEADERS, Buffer.concat(headers)),
    frame(DATA, END_STREAM, Buffer.concat([prefix, message])),
  ]);
}
