// Reading one consistent state of the tables: single keys, ranges, older states, and the changes since a revision.
// Guarantees: everything read through one snapshot is of one moment; whoever opens a snapshot closes it.
import type { RangeOptions, Transaction } from 'lmdb';
import type { Entry, StoreEvent } from '../store.js';
import type { Table, Tables } from './database.js';
import {
  damaged,
  decodeCurrent,
  decodeLog,
  decodeRevision,
  encodeRevision,
  keyBytes,
  type LogRecord,
  prefixEnd,
} from './format.js';

const PIECE = 512;
const PIECE_BYTES = 1024 * 1024;

export interface Range {
  readonly start: Buffer | undefined;
  readonly end: Buffer | undefined;
}

export interface LoggedChange extends LogRecord {
  readonly revision: number;
}

export class Snapshot {
  readonly #tables: Tables;

  readonly #transaction: Transaction;

  constructor(tables: Tables) {
    this.#tables = tables;

    // The package reuses a reader for a while: without the reset a commit just made might be missing.
    tables.root.resetReadTxn();
    this.#transaction = tables.root.useReadTransaction();
  }

  close(): void {
    this.#transaction.done();
  }

  get(key: string): Entry | undefined {
    const bytes = this.#read(this.#tables.current, keyBytes(key));
    return bytes === undefined ? undefined : decodeCurrent(key, bytes);
  }

  /** The newest change is never removed from the log, so its key is the newest revision. */
  newest(): number {
    const options = { reverse: true, limit: 1, transaction: this.#transaction };
    for (const key of this.#tables.log.getKeys(options as RangeOptions)) return decodeRevision(key);
    return 0;
  }

  oldest(): number {
    for (const key of this.#tables.log.getKeys({ limit: 1, transaction: this.#transaction }))
      return decodeRevision(key);
    return 0;
  }

  *entries(range: Range): Generator<Entry> {
    for (const { key, value } of this.#tables.current.getRange(this.#options(range))) {
      yield decodeCurrent(key.toString('utf8'), value);
    }
  }

  count(range: Range): number {
    return this.#tables.current.getKeysCount(this.#options(range));
  }

  *changes(after: number, last = Number.MAX_SAFE_INTEGER): Generator<LoggedChange> {
    const range = {
      start: encodeRevision(after + 1),
      end: encodeRevision(Math.min(last + 1, Number.MAX_SAFE_INTEGER)),
    };
    for (const { key, value } of this.#tables.log.getRange(this.#options(range))) {
      yield { revision: decodeRevision(key), ...decodeLog(value) };
    }
  }

  /** What the change at this revision replaced. */
  replaced({ revision, key, previous }: LoggedChange): Entry | undefined {
    if (previous === 0) return undefined;
    const value = this.#read(this.#tables.undo, encodeRevision(revision));
    if (value === undefined) throw damaged(`the value before revision ${revision} is missing`);
    return { key, value, revision: previous };
  }

  replacedBytes({ revision, previous }: LoggedChange): number {
    return previous === 0 ? 0 : (this.#read(this.#tables.undo, encodeRevision(revision))?.length ?? 0);
  }

  /**
   * The changes in (after, last] to keys of the prefix as events, in pieces; the values of other keys are not read. Empty
   * pieces are places to pause at: the log may be long before the first event is found.
   */
  *events({ after, last, prefix }: { after: number; last: number; prefix: string }): Generator<StoreEvent[]> {
    // A change's new value is what the key's next change replaced, or what the key holds now.
    const nextOf = new Map<number, LoggedChange>();
    const latest = new Map<string, LoggedChange>();
    let seen = 0;
    for (const change of this.changes(after)) {
      if (++seen % PIECE === 0) yield [];
      if (!change.key.startsWith(prefix)) continue;
      const earlier = latest.get(change.key);
      if (earlier !== undefined) nextOf.set(earlier.revision, change);
      latest.set(change.key, change);
    }
    latest.clear();
    let piece: StoreEvent[] = [];
    let bytes = 0;
    for (const change of this.changes(after, last)) {
      if (++seen % PIECE === 0) yield [];
      if (!change.key.startsWith(prefix)) continue;
      const event = this.#event(change, nextOf.get(change.revision));
      piece.push(event);
      bytes += event.value.length + (event.previous?.value.length ?? 0);
      if (piece.length < PIECE && bytes < PIECE_BYTES) continue;
      yield piece;
      piece = [];
      bytes = 0;
    }
    if (piece.length > 0) yield piece;
  }

  #event(change: LoggedChange, next: LoggedChange | undefined): StoreEvent {
    const { type, key, revision } = change;
    const previous = this.replaced(change);
    const held = type === 'delete' ? previous : next === undefined ? this.get(key) : this.replaced(next);
    if (held === undefined) throw damaged(`the value of revision ${revision} is missing`);
    return { type, key, revision, value: held.value, ...(previous === undefined ? {} : { previous }) };
  }

  #read(table: Table, key: Buffer): Buffer | undefined {
    return table.get(key, { transaction: this.#transaction });
  }

  #options({ start, end }: Range): RangeOptions {
    return {
      ...(start === undefined ? {} : { start }),
      ...(end === undefined ? {} : { end }),
      transaction: this.#transaction,
    };
  }
}

/** Keys of the prefix, from after `after` if that is given. */
export function rangeOf(prefix: string, after?: string): Range {
  const first = Buffer.from(prefix, 'utf8');
  const start = after === undefined ? first : Buffer.concat([Buffer.from(after, 'utf8'), Buffer.of(0)]);
  const from = Buffer.compare(start, first) < 0 ? first : start;
  return { start: from.length === 0 ? undefined : from, end: prefixEnd(first) };
}
