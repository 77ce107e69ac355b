// As much of CRI v1 as a test of pod networking needs: gRPC by hand over Node's HTTP/2, messages as numbered fields.
// Guarantees: a refused call rejects with the runtime's own words; the connection ends with close().
import http2 from 'node:http2';
import net from 'node:net';

/** A protobuf message: field number to text or message; of several values of a field the last is kept. */
export interface Message {
  readonly [field: number]: string | Message;
}

const HEADER_SIZE = 5;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function encode(message: Message): Buffer {
  const parts = Object.entries(message).flatMap(([field, value]) => {
    const body = typeof value === 'string' ? Buffer.from(value) : encode(value);
    return [varint((Number(field) << 3) | 2), varint(body.length), body];
  });
  return Buffer.concat(parts);
}

/** The bytes of a field of length-delimited type, by the numbers on the way to it. */
export function field(message: Buffer, ...way: number[]): Buffer | undefined {
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  let found: Buffer | undefined;
  while (at < message.length) {
    const tag = number();
    if ((tag & 7) === 0) number();
    else if ((tag & 7) !== 2) throw new Error(`field type ${tag & 7} is not read here`);
    else {
      const size = number();
      if (tag >> 3 === way[0]) found = message.subarray(at, at + size);
      at += size;
    }
  }
  return found === undefined || way.length === 1 ? found : field(found, ...way.slice(1));
}

export class CriClient {
  readonly #session: http2.ClientHttp2Session;

  constructor(socket: string) {
    this.#session = http2.connect('http://localhost', { createConnection: () => net.connect(socket) });
    this.#session.on('error', () => undefined); // each call in flight is told, too
  }

  /** Calls runtime.v1.RuntimeService. */
  async call(method: string, request: Message): Promise<Buffer> {
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': `/runtime.v1.RuntimeService/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const body = encode(request);
    const header = Buffer.alloc(HEADER_SIZE);
    header.writeUInt32BE(body.length, 1);
    stream.end(Buffer.concat([header, body]));
    let status: http2.IncomingHttpHeaders = {};
    stream.on('response', (headers) => {
      status = headers;
    });
    stream.on('trailers', (headers) => {
      status = headers;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    if (status['grpc-status'] !== '0')
      throw new Error(`${method}: ${decodeURIComponent(String(status['grpc-message']))}`);
    return Buffer.concat(chunks).subarray(HEADER_SIZE);
  }

  close(): void {
    this.#session.close();
  }
}
