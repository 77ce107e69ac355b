// What the store's records look like in LMDB: keys and values as plain bytes. Pure.
// Guarantees: revisions sort as numbers; decode(encode(x)) is x; a record that is too short is DAMAGED, not garbage.
import { type Entry, StoreError } from '../store.js';

/** Written once; a store with a higher number was made by a newer program. */
export const SCHEMA = 1;

const REVISION_BYTES = 8;
const LOG_HEADER = 1 + REVISION_BYTES + 8;
/** LMDB's own limit with 4 KiB pages, as this package builds it. */
const LONGEST_KEY = 1978;

type ChangeType = 'put' | 'delete';

export interface LogRecord {
  readonly type: ChangeType;
  readonly key: string;
  /** Revision of the value that this change replaced or removed; 0 when there was none. */
  readonly previous: number;
  readonly timeMs: number;
}

export function keyBytes(key: string): Buffer {
  const bytes = Buffer.from(key, 'utf8');
  if (bytes.length === 0 || bytes.length > LONGEST_KEY) {
    throw new RangeError(`a key of the store has 1 to ${LONGEST_KEY} bytes, not ${bytes.length}`);
  }
  return bytes;
}

export function encodeRevision(revision: number): Buffer {
  const bytes = Buffer.allocUnsafe(REVISION_BYTES);
  writeRevision(bytes, revision, 0);
  return bytes;
}

export function decodeRevision(bytes: Buffer): number {
  if (bytes.length < REVISION_BYTES) throw damaged('a revision is too short');
  return readRevision(bytes, 0);
}

/** The revision, then the value as it was given. */
export function encodeCurrent(revision: number, value: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(REVISION_BYTES + value.length);
  writeRevision(bytes, revision, 0);
  bytes.set(value, REVISION_BYTES);
  return bytes;
}

export function decodeCurrent(key: string, bytes: Buffer): Entry {
  return { key, revision: decodeRevision(bytes), value: bytes.subarray(REVISION_BYTES) };
}

export function encodeLog({ type, key, previous, timeMs }: LogRecord): Buffer {
  const name = Buffer.from(key, 'utf8');
  const bytes = Buffer.allocUnsafe(LOG_HEADER + name.length);
  bytes[0] = type === 'put' ? 1 : 2;
  writeRevision(bytes, previous, 1);
  bytes.writeDoubleBE(timeMs, 1 + REVISION_BYTES);
  bytes.set(name, LOG_HEADER);
  return bytes;
}

export function decodeLog(bytes: Buffer): LogRecord {
  const code = bytes[0];
  if (bytes.length <= LOG_HEADER || (code !== 1 && code !== 2))
    throw damaged('a record of the log makes no sense');
  return {
    type: code === 1 ? 'put' : 'delete',
    previous: readRevision(bytes, 1),
    timeMs: bytes.readDoubleBE(1 + REVISION_BYTES),
    key: bytes.toString('utf8', LOG_HEADER),
  };
}

/** The first key that is greater than every key with this prefix; undefined when there is none. */
export function prefixEnd(prefix: Buffer): Buffer | undefined {
  for (let last = prefix.length - 1; last >= 0; last--) {
    const byte = prefix[last] ?? 0;
    if (byte < 0xff) return Buffer.concat([prefix.subarray(0, last), Buffer.of(byte + 1)]);
  }
  return undefined;
}

function writeRevision(bytes: Buffer, revision: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(revision / 2 ** 32), at);
  bytes.writeUInt32BE(revision % 2 ** 32, at + 4);
}

function readRevision(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

export function damaged(what: string, cause?: unknown): StoreError {
  const options = cause === undefined ? undefined : { cause };
  return new StoreError('DAMAGED', `the store is damaged: ${what}; restore it from a snapshot`, options);
}
