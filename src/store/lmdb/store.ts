// The embedded store: LMDB in one folder, one process, every write on disk before it is answered.
// Guarantees: those of Store; history is in the file alone, bounded by age, number and bytes, and forgotten step by step.
import path from 'node:path';
import { messageOf } from '../../base/errorMessage.js';
import { CatchUp, type PastWish } from '../catchUp.js';
import {
  type Check,
  type Entry,
  type ListOptions,
  type ListResult,
  type Store,
  StoreError,
  type WatchOptions,
  type Write,
} from '../store.js';
import { WatchHub } from '../watchHub.js';
import { Compaction, type HistoryLimits } from './compaction.js';
import { FILE, openDatabase, type Tables } from './database.js';
import { DiskReserve } from './diskReserve.js';
import { EarlierStates } from './earlierState.js';
import { damaged } from './format.js';
import { listNow, listThen } from './list.js';
import { ResidentPages } from './residentPages.js';
import { Snapshot } from './snapshot.js';
import { Writer } from './writer.js';

export interface LmdbStoreOptions {
  /** The folder; made when it is not there. */
  readonly path: string;
  readonly historyMs?: number;
  readonly historyEvents?: number;
  /** Of the file's pages that hold history. */
  readonly historyBytes?: number;
  readonly now?: () => number;
  /** How often history is looked through for what has become too old. */
  readonly trimEveryMs?: number;
}

/** The name of the file that keeps room for deletions. */
const SPARE = 'spare';
const HISTORY_BYTES = 128 * 1024 * 1024;

/** LOCKED, NEWER_SCHEMA, DAMAGED or UNAVAILABLE when it cannot be opened; nothing is changed then. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const { historyMs = 300_000, historyEvents = 100_000, historyBytes = HISTORY_BYTES } = options;
  const { now = Date.now, trimEveryMs = 5_000 } = options;
  try {
    const tables = await openDatabase(options.path);
    const pages = new ResidentPages(path.join(options.path, FILE));
    try {
      return new LmdbStore(tables, pages, new DiskReserve(path.join(options.path, SPARE)), {
        historyMs,
        historyEvents,
        historyBytes,
        now,
        trimEveryMs,
      });
    } catch (error) {
      await tables.close();
      throw error;
    }
  } catch (cause) {
    throw refusal(cause, `cannot open the store in ${options.path}`);
  }
}

class LmdbStore implements Store {
  readonly #tables: Tables;
  readonly #pages: ResidentPages;
  readonly #spare: DiskReserve;

  readonly #hub = new WatchHub();
  readonly #catchUp = new CatchUp((wish) => this.#past(wish));
  readonly #writer: Writer;
  readonly #compaction: Compaction;
  readonly #timer: NodeJS.Timeout;
  /** Watchers have been told of every change up to this revision. */
  #published: number;
  readonly #earlierStates = new EarlierStates();
  /** Resolves when nobody lists an older state. */
  #lists: Promise<unknown> = Promise.resolve();
  #trimming = false;
  #closing: Promise<void> | undefined;

  constructor(
    tables: Tables,
    pages: ResidentPages,
    spare: DiskReserve,
    limits: HistoryLimits & { readonly trimEveryMs: number },
  ) {
    this.#tables = tables;
    this.#pages = pages;
    this.#spare = spare;

    const newest = this.#look((snapshot) => snapshot.newest());
    this.#published = newest;
    this.#writer = new Writer({
      spare: this.#spare,
      tables,
      newest,
      now: limits.now,
      onCommit: (events) => {
        this.#pages.changed(events);
        this.#published = events.at(-1)?.revision ?? this.#published;
        this.#hub.publish(events);
        // Not only by the clock: a storm between two ticks must not outgrow the limits by much.
        if (this.#compaction.grew(events)) this.#trim();
      },
    });
    this.#compaction = new Compaction(tables, this.#writer, limits);
    this.#timer = setInterval(() => this.#tick(), limits.trimEveryMs).unref();
  }

  revision(): number {
    this.#assertOpen();
    return this.#writer.committed;
  }

  async get(key: string): Promise<Entry | undefined> {
    const entry = this.#look((snapshot) => snapshot.get(key));
    if (entry !== undefined) this.#pages.listed([entry]);
    return entry;
  }

  valueAt(key: string, revision: number): Uint8Array {
    const value = this.#read((snapshot) => {
      const held = snapshot.get(key);
      if (held?.revision === revision) return held.value;
      // A change that is on disk, and not told yet.
      for (const change of snapshot.changes(this.#published))
        if (change.key === key && change.previous === revision) return snapshot.replaced(change)?.value;
      return undefined;
    });
    if (value === undefined) throw damaged(`${key} was not written at revision ${revision}`);
    this.#pages.listed([{ value }]);
    return value;
  }

  async list(options: ListOptions): Promise<ListResult> {
    const { revision } = options;
    const now = this.#look((snapshot) =>
      revision === undefined || revision === snapshot.newest() ? listNow(snapshot, options) : undefined,
    );
    const result = now ?? (await this.#listPast(options, revision as number));
    this.#pages.listed(result.entries);
    this.#pages.counted(result.remaining);
    return result;
  }

  create(key: string, value: Uint8Array): Promise<number> {
    return this.#writer.write({ verb: 'create', key, value: Buffer.from(value) });
  }

  update(key: string, value: Uint8Array, expected: number): Promise<number> {
    return this.#writer.write({ verb: 'update', key, value: Buffer.from(value), expected });
  }

  delete(key: string, expected: number): Promise<number> {
    return this.#writer.write({ verb: 'delete', key, expected });
  }

  transact(writes: readonly (Write | Check)[]): Promise<readonly number[]> {
    return this.#writer.transact(
      writes.map((write) =>
        write.verb === 'delete' || write.verb === 'check'
          ? write
          : { ...write, value: Buffer.from(write.value) },
      ),
    );
  }

  async watch(options: WatchOptions): Promise<{ close(): void }> {
    this.#assertOpen();
    this.#assertKept(options.after);
    const { after } = options;
    // Nothing is missed; what is on disk and not told yet is about to be.
    if (after >= this.#published) return this.#hub.add(options, []);
    return this.#hub.add(options, this.#catchUp.join(options));
  }

  async compact(revision: number): Promise<void> {
    this.#assertOpen();
    if (revision > this.#writer.committed) throw future(revision, this.#writer.committed);
    if (revision > this.#compaction.compacted) await this.#compaction.to(revision);
  }

  close(): Promise<void> {
    this.#closing ??= this.#shut();
    return this.#closing;
  }

  async #shut(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writer.close();
    this.#hub.fail(new StoreError('CLOSED', 'the store is closed'));
    // Those who still read the past hold a snapshot, and the file must not be unmapped beneath them.
    await Promise.all([this.#hub.settled(), this.#lists]);
    await this.#tables.close();
  }

  /** One at a time: a state of the past is carried on by snapshots in their order, and is the largest thing in memory. */
  #listPast(options: ListOptions, revision: number): Promise<ListResult> {
    const listed = this.#lists.then(async () => {
      this.#assertOpen();
      this.#assertKept(revision);
      const snapshot = new Snapshot(this.#tables);
      try {
        return await this.#inPieces(
          listThen(snapshot, this.#earlierStates.of(options.prefix, revision), options),
        );
      } catch (cause) {
        throw refusal(cause, 'cannot read the store');
      } finally {
        snapshot.close();
        this.#earlierStates.forgetExcess();
      }
    });
    this.#lists = listed.catch(() => {});
    return listed;
  }

  async #inPieces<T>(work: Generator<void, T>): Promise<T> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#assertOpen();
      const { done, value } = work.next();
      if (done === true) return value;
    }
  }

  async *#past({ after, prefix }: PastWish) {
    if (this.#closing !== undefined) return;
    this.#assertKept(after);
    const snapshot = new Snapshot(this.#tables);
    try {
      const last = this.#writer.committed;
      for (const piece of snapshot.events({ after, last, prefix })) {
        this.#pages.listed(piece);
        if (piece.length > 0) yield piece;
        await new Promise((resolve) => setImmediate(resolve));
        if (this.#closing !== undefined) return;
      }
    } finally {
      snapshot.close();
    }
  }

  #tick(): void {
    this.#spare.keep();
    this.#earlierStates.forgetIdle();
    this.#pages.release();
    this.#trim();
  }

  #trim(): void {
    if (this.#trimming || this.#closing !== undefined) return;
    this.#trimming = true;
    this.#compaction
      .trim()
      // A full disk also refuses this; the writes that matter say so, and the next tick tries again.
      .catch(() => {})
      .finally(() => {
        this.#trimming = false;
      });
  }

  #look<T>(read: (snapshot: Snapshot) => T): T {
    this.#pages.looked(1);
    return this.#read(read);
  }

  #read<T>(read: (snapshot: Snapshot) => T): T {
    this.#assertOpen();
    const snapshot = new Snapshot(this.#tables);
    try {
      return read(snapshot);
    } catch (cause) {
      throw refusal(cause, 'cannot read the store');
    } finally {
      snapshot.close();
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StoreError('CLOSED', 'the store is closed');
  }

  #assertKept(revision: number): void {
    if (revision > this.#writer.assigned) throw future(revision, this.#writer.assigned);
    const { compacted } = this.#compaction;
    if (revision >= compacted) return;
    throw new StoreError(
      'COMPACTED',
      `revision ${revision} is no longer kept; history starts at ${compacted}`,
    );
  }
}

function future(revision: number, newest: number): StoreError {
  return new StoreError('FUTURE', `revision ${revision} is yet to come; the newest is ${newest}`);
}

function refusal(cause: unknown, what: string): Error {
  if (cause instanceof StoreError || cause instanceof RangeError) return cause;
  const why = messageOf(cause);
  if (/MDB_(INVALID|CORRUPTED|PAGE_NOTFOUND|VERSION_MISMATCH)/.test(why)) return damaged(why, cause);
  return new StoreError('UNAVAILABLE', `${what}: ${why}`, { cause });
}
