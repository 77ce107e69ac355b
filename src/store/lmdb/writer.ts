// The one writer: whatever is asked while a commit is under way shares the next one (group commit).
// Guarantees: a write is answered when it is on disk; a batch is there as a whole or not at all, or on a full disk its
// deletions alone.
import { messageOf } from '../../base/errorMessage.js';
import { decideBatch } from '../batch.js';
import { type Check, StoreError, type StoreEvent, type Write } from '../store.js';
import { commit } from './commit.js';
import type { Tables } from './database.js';
import type { DiskReserve } from './diskReserve.js';
import { encodeCurrent, encodeLog, encodeRevision, keyBytes } from './format.js';
import { Snapshot } from './snapshot.js';

interface Waiting {
  readonly writes: readonly (Write | Check)[];
  resolve(revisions: readonly number[]): void;
  reject(error: unknown): void;
}

interface WriterOptions {
  readonly tables: Tables;
  readonly newest: number;
  readonly now: () => number;
  readonly spare: DiskReserve;
  /** Called after each commit, before its writes are answered. */
  onCommit(events: readonly StoreEvent[]): void;
}

/** Bounds the memory of a commit and how long one write can wait for others. */
const BATCH = 1024;

export class Writer {
  readonly #options: WriterOptions;

  readonly #queue: Waiting[] = [];
  readonly #chores: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  /** Newest revision whose commit is known. */
  committed: number;
  /** Newest revision given out, perhaps still on its way to disk; readers may see it before its writer hears of it. */
  assigned: number;

  constructor(options: WriterOptions) {
    this.#options = options;

    this.committed = options.newest;
    this.assigned = options.newest;
  }

  async write(write: Write): Promise<number> {
    const [revision] = await this.transact([write]);
    return revision as number;
  }

  /** All or none; the values must not change any more. */
  transact(writes: readonly (Write | Check)[]): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new StoreError('CLOSED', 'the store is closed'));
      for (const { key } of writes) keyBytes(key);
      this.#queue.push({ writes, resolve, reject });
      this.#start();
    });
  }

  /** Runs between two commits: for writes that are not changes, such as compaction. */
  between(chore: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new StoreError('CLOSED', 'the store is closed'));
      this.#chores.push(() => chore().then(resolve, reject));
      this.#start();
    });
  }

  /** Refuses new writes; resolves when those under way are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  #start(): void {
    this.#running ??= this.#drain();
  }

  async #drain(): Promise<void> {
    // Whatever else this turn of the event loop brings comes along.
    await new Promise((resolve) => setImmediate(resolve));
    let tell = nothing;
    while (this.#queue.length > 0 || this.#chores.length > 0) {
      const settling = this.#queue.length > 0 ? this.#commit(this.#queue.splice(0, BATCH)) : nothing;
      // Those of the batch before are told while the disk works on this one.
      tell();
      tell = await settling;
      // One chore after each batch: a long compaction never holds writes up for more than one of its steps.
      const chore = this.#chores.shift();
      if (chore === undefined) continue;
      tell();
      tell = nothing;
      await chore();
    }
    // In the turn of the last look at the queue: a write that comes later finds nobody running and starts again.
    this.#running = undefined;
    tell();
  }

  /** On a full disk deletions alone go on, in the room that was kept for them. */
  async #commit(batch: readonly Waiting[]): Promise<() => void> {
    const { spare } = this.#options;
    if (spare.isGivenUp) spare.keep();
    if (!spare.isGivenUp) {
      const outcome = await this.#tryCommit(batch);
      if (outcome.tell !== undefined) return outcome.tell;
      const deletions = batch.filter(isDeletion);
      if (deletions.length === 0 || !spare.giveUp()) {
        return () => refuse(batch, outcome.cause);
      }
    }
    const others = batch.filter((waiting) => !isDeletion(waiting));
    const { tell, cause } = await this.#tryCommit(batch.filter(isDeletion));
    return () => {
      if (tell === undefined) refuse(batch.filter(isDeletion), cause);
      else tell();
      refuse(others, new Error('there is no space left on the disk but for deletions'));
    };
  }

  /** Resolves when the batch is on disk, with what tells watchers and writers so, or with why nothing of it is. */
  async #tryCommit(
    batch: readonly Waiting[],
  ): Promise<{ readonly tell?: () => void; readonly cause?: unknown }> {
    const { tables, onCommit } = this.#options;
    try {
      const outcomes = decide(
        tables,
        batch.map(({ writes }) => writes),
        this.committed,
      );
      const events = outcomes.flatMap((outcome) => (outcome instanceof StoreError ? [] : outcome));
      const newest = this.committed + events.length;
      if (events.length > 0) {
        this.assigned = newest;
        await commit(tables, () => this.#put(events));
        this.committed = newest;
      }
      const tell = () => {
        if (events.length > 0) onCommit(events);
        outcomes.forEach((outcome, index) => {
          if (outcome instanceof StoreError) batch[index]?.reject(outcome);
          else batch[index]?.resolve(outcome.map(({ revision }) => revision));
        });
      };
      return { tell };
    } catch (cause) {
      this.assigned = this.committed;
      return { cause };
    }
  }

  #put(events: readonly StoreEvent[]): void {
    const { tables, now } = this.#options;
    const timeMs = now();
    for (const { type, key, revision, value, previous } of events) {
      const name = keyBytes(key);
      const id = encodeRevision(revision);
      if (type === 'put') tables.current.put(name, encodeCurrent(revision, value));
      else tables.current.remove(name);
      tables.log.put(id, encodeLog({ type, key, previous: previous?.revision ?? 0, timeMs }));
      if (previous !== undefined) tables.undo.put(id, previous.value);
    }
  }
}

function nothing(): void {}

const isDeletion = ({ writes }: Waiting) => writes.every(({ verb }) => verb === 'delete' || verb === 'check');

function refuse(batch: readonly Waiting[], cause: unknown): void {
  const why = messageOf(cause);
  const error =
    cause instanceof StoreError
      ? cause
      : new StoreError('UNAVAILABLE', `cannot write to the store: ${why}`, { cause });
  for (const { reject } of batch) reject(error);
}

function decide(tables: Tables, transactions: readonly (readonly (Write | Check)[])[], revision: number) {
  const snapshot = new Snapshot(tables);
  try {
    return decideBatch(transactions, (key) => snapshot.get(key), revision);
  } finally {
    snapshot.close();
  }
}
