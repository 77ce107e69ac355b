// The snapshot file: a header, every key with its revision and value, a count, and a checksum over all of it. Pure.
// Guarantees: decode(encode(x)) is x, however the bytes are cut into chunks; what is wrong with a file is said in words.
import { createHash, type Hash } from 'node:crypto';
import { type Entry, StoreError } from '../store.js';

const MAGIC = Buffer.from('TRELLIS SNAPSHOT\n', 'latin1');
const FORMAT = 1;
const HEADER_BYTES = MAGIC.length + 4 + 8 + 8;
const RECORD = 1;
const END = 2;
const RECORD_HEADER = 1 + 4 + 4 + 8;
const HASH_BYTES = 32;
const END_BYTES = 1 + 8 + HASH_BYTES;
/** More than any key or value can have: a damaged length is recognised before memory is asked for it. */
const LONGEST = 64 * 1024 * 1024;

export interface SnapshotHeader {
  readonly revision: number;
  readonly timeMs: number;
}

export interface SnapshotEnd {
  readonly keys: number;
  /** SHA-256 of everything before it, in hexadecimal. */
  readonly hash: string;
}

export class SnapshotEncoder {
  readonly #hash = createHash('sha256');
  #keys = 0;

  header({ revision, timeMs }: SnapshotHeader): Buffer {
    const bytes = Buffer.alloc(HEADER_BYTES);
    MAGIC.copy(bytes);
    bytes.writeUInt32BE(FORMAT, MAGIC.length);
    bytes.writeBigUInt64BE(BigInt(revision), MAGIC.length + 4);
    bytes.writeBigUInt64BE(BigInt(Math.trunc(timeMs)), MAGIC.length + 12);
    return this.#counted(bytes);
  }

  entries(entries: readonly Entry[]): Buffer {
    this.#keys += entries.length;
    return this.#counted(Buffer.concat(entries.flatMap(recordOf)));
  }

  end(): { readonly bytes: Buffer; readonly end: SnapshotEnd } {
    const bytes = Buffer.alloc(1 + 8);
    bytes[0] = END;
    bytes.writeBigUInt64BE(BigInt(this.#keys), 1);
    const hash = this.#hash.update(bytes).digest();
    return { bytes: Buffer.concat([bytes, hash]), end: { keys: this.#keys, hash: hash.toString('hex') } };
  }

  #counted(bytes: Buffer): Buffer {
    this.#hash.update(bytes);
    return bytes;
  }
}

function recordOf({ key, value, revision }: Entry): Buffer[] {
  const name = Buffer.from(key, 'utf8');
  const head = Buffer.alloc(RECORD_HEADER);
  head[0] = RECORD;
  head.writeUInt32BE(name.length, 1);
  head.writeUInt32BE(value.length, 5);
  head.writeBigUInt64BE(BigInt(revision), 9);
  return [head, name, value];
}

/** Fed with the file's bytes piece by piece; throws DAMAGED or NEWER_SCHEMA at the first thing that is wrong. */
export class SnapshotDecoder {
  header: SnapshotHeader | undefined;
  readonly #hash: Hash = createHash('sha256');
  #waiting: Buffer = Buffer.alloc(0);
  #keys = 0;
  #ended: SnapshotEnd | undefined;

  /** The entries that are complete with this piece. */
  push(piece: Buffer): Entry[] {
    this.#waiting = this.#waiting.length === 0 ? piece : Buffer.concat([this.#waiting, piece]);
    if (this.header === undefined && !this.#takeHeader()) return [];
    const entries: Entry[] = [];
    while (this.#waiting.length > 0) {
      if (this.#ended !== undefined) throw bad('there is something after its end');
      const tag = this.#waiting[0];
      if (tag === END) {
        if (!this.#takeEnd()) break;
        continue;
      }
      if (tag !== RECORD) throw bad('a record makes no sense');
      const entry = this.#takeRecord();
      if (entry === undefined) break;
      entries.push(entry);
    }
    return entries;
  }

  finish(): SnapshotHeader & SnapshotEnd {
    if (this.header === undefined && this.#waiting.length < MAGIC.length)
      throw bad('it is no snapshot of Trellis');
    if (this.header === undefined || this.#ended === undefined) throw bad('it is cut off');
    return { ...this.header, ...this.#ended };
  }

  #takeHeader(): boolean {
    const seen = Math.min(this.#waiting.length, MAGIC.length);
    if (this.#waiting.compare(MAGIC, 0, seen, 0, seen) !== 0) throw bad('it is no snapshot of Trellis');
    if (this.#waiting.length < HEADER_BYTES) return false;
    const bytes = this.#take(HEADER_BYTES);
    const format = bytes.readUInt32BE(MAGIC.length);
    if (format !== FORMAT) {
      const why = `the snapshot has format ${format}, and this program knows ${FORMAT}; use a newer Trellis`;
      throw new StoreError('NEWER_SCHEMA', why);
    }
    this.header = {
      revision: Number(bytes.readBigUInt64BE(MAGIC.length + 4)),
      timeMs: Number(bytes.readBigUInt64BE(MAGIC.length + 12)),
    };
    return true;
  }

  #takeRecord(): Entry | undefined {
    if (this.#waiting.length < RECORD_HEADER) return undefined;
    const keyLength = this.#waiting.readUInt32BE(1);
    const valueLength = this.#waiting.readUInt32BE(5);
    if (keyLength === 0 || keyLength > LONGEST || valueLength > LONGEST) throw bad('a record makes no sense');
    if (this.#waiting.length < RECORD_HEADER + keyLength + valueLength) return undefined;
    const bytes = this.#take(RECORD_HEADER + keyLength + valueLength);
    this.#keys += 1;
    return {
      key: bytes.toString('utf8', RECORD_HEADER, RECORD_HEADER + keyLength),
      value: bytes.subarray(RECORD_HEADER + keyLength),
      revision: Number(bytes.readBigUInt64BE(9)),
    };
  }

  #takeEnd(): boolean {
    if (this.#waiting.length < END_BYTES) return false;
    const keys = Number(this.#take(1 + 8).readBigUInt64BE(1));
    const wanted = this.#hash.digest();
    const found = this.#waiting.subarray(0, HASH_BYTES);
    this.#waiting = this.#waiting.subarray(HASH_BYTES);
    if (!wanted.equals(found)) throw bad('its checksum does not match what it holds');
    if (keys !== this.#keys) throw bad(`it holds ${this.#keys} keys and says ${keys}`);
    this.#ended = { keys, hash: wanted.toString('hex') };
    return true;
  }

  #take(length: number): Buffer {
    const bytes = this.#waiting.subarray(0, length);
    this.#waiting = this.#waiting.subarray(length);
    this.#hash.update(bytes);
    return bytes;
  }
}

const bad = (what: string) => new StoreError('DAMAGED', `the snapshot cannot be used: ${what}`);
