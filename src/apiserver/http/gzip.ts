// Packs a body with gzip piece by piece.
// Guarantees: one gzip member (RFC 1952), as every client reads it; between two pieces no compressor is held, only a sum.
import { promisify } from 'node:util';
import { constants, crc32, deflateRaw } from 'node:zlib';

const pack = promisify(deflateRaw);
/** Magic, deflate, no flags, no time, fastest, any system. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff]);
/** A last block with nothing in it. */
const LAST_BLOCK = Buffer.from([0x03, 0x00]);
/** Each piece ends on a byte, so that the next may begin with a compressor of its own. */
const OPTIONS = { level: 1, finishFlush: constants.Z_SYNC_FLUSH };

export async function* gzipped(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let sum = 0;
  let size = 0;
  let isFirst = true;
  for await (const piece of body) {
    if (piece.length === 0) continue;
    sum = crc32(piece, sum);
    size = (size + piece.length) % 2 ** 32;
    const packed = await pack(piece, OPTIONS);
    yield isFirst ? Buffer.concat([HEAD, packed]) : packed;
    isFirst = false;
  }
  const end = Buffer.alloc(8);
  end.writeUInt32LE(sum, 0);
  end.writeUInt32LE(size, 4);
  yield Buffer.concat([isFirst ? HEAD : Buffer.alloc(0), LAST_BLOCK, end]);
}
