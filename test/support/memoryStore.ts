// A store in memory with the whole history: for tests of what stands on a store.
// Guarantees: revisions, conflicts, watches and compaction as the interface promises; nothing is durable.
import {
  type Entry,
  type ListOptions,
  type ListResult,
  type Store,
  StoreError,
  type StoreEvent,
  type WatchOptions,
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
      .filter(({ key }) => key.startsWith(prefix) && (after === undefined || key > after))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
    const entries = limit === undefined ? all : all.slice(0, limit);
    return { entries, revision: at, remaining: all.length - entries.length };
  }

  async create(key: string, value: Uint8Array): Promise<number> {
    if (this.#now.has(key)) throw new StoreError('EXISTS', key);
    return this.#write({ type: 'put', key, value: Buffer.from(value) });
  }

  async update(key: string, value: Uint8Array, expected: number): Promise<number> {
    this.#expect(key, expected);
    return this.#write({ type: 'put', key, value: Buffer.from(value) });
  }

  async delete(key: string, expected: number): Promise<number> {
    const { value } = this.#expect(key, expected);
    return this.#write({ type: 'delete', key, value });
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

  #expect(key: string, expected: number): Entry {
    const held = this.#now.get(key);
    if (held === undefined) throw new StoreError('MISSING', key);
    if (held.revision !== expected) throw new StoreError('CONFLICT', key);
    return held;
  }

  #write(change: Pick<StoreEvent, 'type' | 'key' | 'value'>): number {
    const previous = this.#now.get(change.key);
    this.#revision += 1;
    const revision = this.#revision;
    const event = { ...change, revision, ...(previous === undefined ? {} : { previous }) };
    this.#history.push(event);
    if (change.type === 'put') this.#now.set(change.key, { key: change.key, value: change.value, revision });
    else this.#now.delete(change.key);
    // Told later, as any real store does: readers must not rely on luck.
    setImmediate(() => {
      for (const watch of this.#watches) this.#tell(watch, event);
    });
    return revision;
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
