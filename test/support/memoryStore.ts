// A store in memory with the whole history: for tests of what stands on a store.
// Guarantees: revisions, conflicts, watches and compaction as the interface promises; nothing is durable.
import { decideBatch, type Outcome } from '../../src/store/batch.js';
import {
  type Check,
  type Entry,
  type ListOptions,
  type ListResult,
  type Store,
  StoreError,
  type StoreEvent,
  type WatchOptions,
  type Write,
} from '../../src/store/store.js';

export class MemoryStore implements Store {
  #revision = 0;
  #compacted = 0;
  readonly #history: StoreEvent[] = [];
  readonly #now = new Map<string, Entry>();
  readonly #watches = new Set<WatchOptions>();

  async revision(): Promise<number> {
    return this.#revision;
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.#now.get(key);
  }

  async list({ prefix, limit, after, revision }: ListOptions): Promise<ListResult> {
    if (revision !== undefined && revision < this.#compacted) throw new StoreError('COMPACTED', 'compacted');
    const at = revision ?? this.#revision;
    const all = [...this.#at(at).values()]
      .filter(({ key }) => key.startsWith(prefix) && (after === undefined || byBytes(key, after) > 0))
      .sort((a, b) => byBytes(a.key, b.key));
    const entries = limit === undefined ? all : all.slice(0, limit);
    return { entries, revision: at, remaining: all.length - entries.length };
  }

  async create(key: string, value: Uint8Array): Promise<number> {
    return this.#one({ verb: 'create', key, value });
  }

  async update(key: string, value: Uint8Array, expected: number): Promise<number> {
    return this.#one({ verb: 'update', key, value, expected });
  }

  async delete(key: string, expected: number): Promise<number> {
    return this.#one({ verb: 'delete', key, expected });
  }

  async transact(writes: readonly (Write | Check)[]): Promise<readonly number[]> {
    const outcome = decideBatch([writes], (key) => this.#now.get(key), this.#revision)[0] as Outcome;
    if (outcome instanceof StoreError) throw outcome;
    for (const event of outcome) this.#commit(event);
    // Told later, as any real store does: readers must not rely on luck.
    setImmediate(() => {
      for (const watch of this.#watches) for (const event of outcome) this.#tell(watch, event);
    });
    return outcome.map(({ revision }) => revision);
  }

  async watch(options: WatchOptions): Promise<{ close(): void }> {
    if (options.after < this.#compacted) throw new StoreError('COMPACTED', 'compacted');
    const missed = this.#history.filter(({ revision }) => revision > options.after);
    this.#watches.add(options);
    for (const event of missed) this.#tell(options, event);
    return { close: () => this.#watches.delete(options) };
  }

  async compact(revision: number): Promise<void> {
    this.#compacted = revision;
  }

  async close(): Promise<void> {
    this.breakWatches('CLOSED');
  }

  breakWatches(code: 'CLOSED' | 'COMPACTED' | 'UNAVAILABLE'): void {
    const broken = [...this.#watches];
    this.#watches.clear();
    for (const { onError } of broken) onError(new StoreError(code, code));
  }

  async #one(write: Write): Promise<number> {
    const kept = write.verb === 'delete' ? write : { ...write, value: Buffer.from(write.value) };
    const [revision] = await this.transact([kept]);
    return revision as number;
  }

  #commit(event: StoreEvent): void {
    const { type, key, value, revision } = event;
    this.#revision = revision;
    this.#history.push(event);
    if (type === 'put') this.#now.set(key, { key, value, revision });
    else this.#now.delete(key);
  }

  #tell({ prefix, after, onEvents }: WatchOptions, event: StoreEvent): void {
    if (event.revision > after && event.key.startsWith(prefix)) onEvents([event]);
  }

  #at(revision: number): ReadonlyMap<string, Entry> {
    if (revision === this.#revision) return this.#now;
    const state = new Map<string, Entry>();
    for (const { type, key, value, revision: at } of this.#history) {
      if (at > revision) break;
      if (type === 'put') state.set(key, { key, value, revision: at });
      else state.delete(key);
    }
    return state;
  }
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
