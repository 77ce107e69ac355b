// Packs a body with gzip piece by piece.
// Guarantees: one gzip member (RFC 1952), as every client reads it; between two pieces no compressor, no piece of the
// body and none that was given out is held, only a sum.
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';
import type { Stream } from '../exchange.js';

const pack = promisify(deflateRaw);
/** Magic, deflate, no flags, no time, fastest, any system. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff]);
/** A last block with nothing in it. */
const LAST_BLOCK = Buffer.from([0x03, 0x00]);
/** Each piece ends on a byte, so that the next may begin with a compressor of its own. */
const OPTIONS = { level: 1, finishFlush: constants.Z_SYNC_FLUSH };

/** Not a generator: one that waits keeps what its registers last held, here the packed piece before the current one. */
class GzippedBody implements AsyncIterableIterator<Uint8Array> {
  readonly #body: Stream;
  readonly #pieces: AsyncIterator<Uint8Array>;

  #sum = 0;
  #size = 0;
  #state: 'first' | 'more' | 'ended' = 'first';

  constructor(body: Stream) {
    this.#body = body;
    this.#pieces = body[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#state === 'ended') return { done: true, value: undefined };
    const head = this.#state === 'first' ? [HEAD] : [];
    for (;;) {
      const { done, value } = await this.#pieces.next();
      this.#state = done ? 'ended' : 'more';
      if (done) return { done: false, value: Buffer.concat([...head, LAST_BLOCK, this.#trailer()]) };
      if (value.length === 0) continue;
      this.#sum = crc32(value, this.#sum);
      this.#size = (this.#size + value.length) % 2 ** 32;
      const packed = await pack(value, OPTIONS);
      this.#body.release?.();
      return { done: false, value: head.length > 0 ? Buffer.concat([...head, packed]) : packed };
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#state = 'ended';
    await this.#pieces.return?.();
    return { done: true, value: undefined };
  }

  #trailer(): Buffer {
    const end = Buffer.alloc(8);
    end.writeUInt32LE(this.#sum, 0);
    end.writeUInt32LE(this.#size, 4);
    return end;
  }
}

export function gzipped(body: Stream): AsyncIterableIterator<Uint8Array> {
  return new GzippedBody(body);
}
