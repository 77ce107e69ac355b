// A lean HTTPS client: one connection, one request at a time, answers counted but not understood.
import { type Answer, LeanConnection, openSocket } from './leanConnection.js';
import type { Place, ServerProcess } from './testbed.js';

const END_OF_HEAD = Buffer.from('\r\n\r\n');

export class Wire extends LeanConnection {
  #head: Buffer = Buffer.alloc(0);
  #missing = -1;
  #status = 0;
  #received = 0;

  static async open(place: Pick<Place, 'tls'>, { port }: Pick<ServerProcess, 'port'>): Promise<Wire> {
    return new Wire(await openSocket(place, port, 'http/1.1'));
  }

  /** Everything after the head of the answer, as it comes: for watches. */
  stream(request: Buffer, onData: (piece: Buffer) => void): void {
    this.socket.removeAllListeners('data');
    this.socket.on('data', onData);
    this.socket.write(request);
  }

  protected override take(piece: Buffer): void {
    if (this.#missing === -1) {
      this.#head = this.#head.length === 0 ? piece : Buffer.concat([this.#head, piece]);
      const end = this.#head.indexOf(END_OF_HEAD);
      if (end === -1) return;
      const text = this.#head.toString('latin1', 0, end);
      this.#status = Number(text.slice(9, 12));
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1]);
      this.#received = this.#head.length - end - END_OF_HEAD.length;
      this.#missing = length - this.#received;
      this.#head = Buffer.alloc(0);
    } else {
      this.#missing -= piece.length;
      this.#received += piece.length;
    }
    if (this.#missing > 0) return;
    this.#missing = -1;
    const done = this.done;
    const status = this.#status;
    const received = this.#received;
    this.done = undefined;
    done?.({ status, bytes: received });
  }
}

export function get(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n`);
}

export const post = (path: string, body: Buffer) => sending('POST', path, body);
export const put = (path: string, body: Buffer) => sending('PUT', path, body);

function sending(method: string, path: string, body: Buffer): Buffer {
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/** Asks `count` times over all wires; answers the time of one in microseconds, all wires together. */
export async function drive(
  wires: readonly { ask(request: Buffer): Promise<Answer> }[],
  count: number,
  request: (index: number) => Buffer,
  wanted = 200,
): Promise<number> {
  let next = 0;
  const start = performance.now();
  await Promise.all(
    wires.map(async (wire) => {
      while (next < count) {
        const { status } = await wire.ask(request(next++));
        if (status !== wanted) throw new Error(`the server answered ${status}, not ${wanted}`);
      }
    }),
  );
  return ((performance.now() - start) * 1000) / count;
}
