// The store's keys inside etcd: below a prefix, as bytes. Pure.
// Guarantees: what lies outside the prefix is never touched, and never taken for a key of ours.
import { type Entry, StoreError } from '../store.js';
import type { KeyValue } from './messages.js';

interface KeyRange {
  readonly key: Buffer;
  readonly rangeEnd: Buffer;
}

/** etcd's words for the least key, and for "to the end". */
const ZERO = Buffer.of(0);
export const EVERYTHING: KeyRange = { key: ZERO, rangeEnd: ZERO };

export class Keyspace {
  readonly #prefix: string;

  readonly #bytes: Buffer;

  constructor(prefix: string) {
    this.#prefix = prefix;

    this.#bytes = Buffer.from(prefix, 'utf8');
  }

  toEtcd(key: string): Buffer {
    if (key === '') throw new RangeError('a key of the store has at least 1 byte');
    return Buffer.from(this.#prefix + key, 'utf8');
  }

  /** Undefined for a key of somebody else. */
  fromEtcd(key: Buffer): string | undefined {
    const { length } = this.#bytes;
    if (key.length <= length || key.compare(this.#bytes, 0, length, 0, length) !== 0) return undefined;
    return key.toString('utf8', length);
  }

  /** Keys with the prefix, from behind `after` on if that is given. */
  range(prefix: string, after?: string): KeyRange {
    const first = Buffer.from(this.#prefix + prefix, 'utf8');
    const behind = after === undefined ? first : Buffer.from(`${this.#prefix}${after}\0`, 'utf8');
    const start = Buffer.compare(behind, first) < 0 ? first : behind;
    return { key: start.length === 0 ? ZERO : start, rangeEnd: endOf(first) };
  }

  entry({ key, value, modRevision }: KeyValue): Entry {
    const name = this.fromEtcd(key);
    if (name === undefined)
      throw new StoreError('DAMAGED', 'etcd answered with a key that was not asked for');
    return { key: name, value, revision: modRevision };
  }
}

/** The first key behind all keys with this prefix. */
function endOf(prefix: Buffer): Buffer {
  for (let last = prefix.length - 1; last >= 0; last--) {
    const byte = prefix[last] ?? 0;
    if (byte < 0xff) return Buffer.concat([prefix.subarray(0, last), Buffer.of(byte + 1)]);
  }
  return ZERO;
}
