// The store on etcd v3: revisions are etcd's own, writes are transactions on the revision of their key.
// Guarantees: those of Store, also between several processes on one etcd; history is forgotten after a time.
import {
  type Entry,
  type ListOptions,
  type ListResult,
  type Store,
  StoreError,
  type WatchOptions,
} from '../store.js';
import { Connection } from './connection.js';
import type { EtcdTls } from './endpoint.js';
import { Keyspace } from './keyspace.js';
import type { RangeResponse, RequestOp } from './messages.js';
import { EtcdWatch } from './watch.js';

export interface EtcdStoreOptions {
  /** Such as https://10.0.0.1:2379. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** Put before every key. */
  readonly prefix?: string;
  readonly timeoutMs?: number;
  readonly patienceMs?: number;
  /** History older than this is forgotten; 0 leaves that to etcd and others. */
  readonly historyMs?: number;
}

/** Answers of etcd are bounded: the rest of a long list is asked for at the same revision. */
const PAGE = 1_000;

/** UNAVAILABLE when no endpoint answers. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const {
    endpoints,
    tls,
    prefix = '',
    timeoutMs = 10_000,
    patienceMs = 3_000,
    historyMs = 300_000,
  } = options;
  const connection = new Connection({
    endpoints,
    timeoutMs,
    patienceMs,
    ...(tls === undefined ? {} : { tls }),
  });
  const store = new EtcdStore(connection, new Keyspace(prefix), historyMs);
  try {
    await store.revision();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class EtcdStore implements Store {
  private readonly watches = new Set<EtcdWatch>();
  private readonly timer: NodeJS.Timeout | undefined;
  private lastTick: number | undefined;
  private closed = false;

  constructor(
    private readonly connection: Connection,
    private readonly keys: Keyspace,
    historyMs: number,
  ) {
    if (historyMs > 0) this.timer = setInterval(() => void this.forget(), historyMs).unref();
  }

  async revision(): Promise<number> {
    const { header } = await this.connection.read('Range', { key: Buffer.of(0), countOnly: true });
    return header.revision;
  }

  async get(key: string): Promise<Entry | undefined> {
    const { kvs } = await this.connection.read('Range', { key: this.keys.toEtcd(key) });
    return kvs[0] === undefined ? undefined : this.keys.entry(kvs[0]);
  }

  async list({ prefix, limit = 0, after, revision = 0 }: ListOptions): Promise<ListResult> {
    const entries: Entry[] = [];
    let at = revision;
    let last = after;
    for (;;) {
      const size = limit > 0 ? Math.min(PAGE, limit - entries.length) : PAGE;
      const page: RangeResponse = await this.connection.read('Range', {
        ...this.keys.range(prefix, last),
        limit: size,
        revision: at,
      });
      // The first page's moment is that of the whole list.
      if (at === 0) at = page.header.revision;
      for (const kv of page.kvs) entries.push(this.keys.entry(kv));
      last = entries.at(-1)?.key;
      const isDone = !page.more || page.kvs.length === 0 || (limit > 0 && entries.length >= limit);
      if (isDone) return { entries, revision: at, remaining: page.count - page.kvs.length };
    }
  }

  async create(key: string, value: Uint8Array): Promise<number> {
    const name = this.keys.toEtcd(key);
    const { header, succeeded } = await this.connection.write('Txn', {
      compare: [{ result: 'EQUAL', target: 'MOD', key: name, modRevision: 0 }],
      success: [{ requestPut: { key: name, value: Buffer.from(value) } }],
      failure: [],
    });
    if (!succeeded) throw new StoreError('EXISTS', `key ${key} exists already`);
    return header.revision;
  }

  update(key: string, value: Uint8Array, expected: number): Promise<number> {
    return this.change(key, expected, (name) => ({ requestPut: { key: name, value: Buffer.from(value) } }));
  }

  delete(key: string, expected: number): Promise<number> {
    return this.change(key, expected, (name) => ({ requestDeleteRange: { key: name } }));
  }

  async watch(options: WatchOptions): Promise<{ close(): void }> {
    // etcd itself would wait for a revision that is yet to come, and tells of a forgotten one only later.
    const { after } = options;
    const check = { key: Buffer.of(0), countOnly: true, revision: Math.max(after, 1) };
    await this.connection.read('Range', check).catch((cause: StoreError) => {
      if (cause.code !== 'COMPACTED' && cause.code !== 'FUTURE') throw cause;
      const what = cause.code === 'FUTURE' ? 'is yet to come' : 'is no longer kept';
      throw new StoreError(cause.code, `revision ${after} ${what}`, { cause });
    });
    const watch: EtcdWatch = new EtcdWatch(this.connection, this.keys, options, () =>
      this.watches.delete(watch),
    );
    this.watches.add(watch);
    watch.open();
    return { close: () => watch.close() };
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.connection.write('Compact', { revision });
    } catch (error) {
      // Somebody else forgot it already.
      if (!(error instanceof StoreError && error.code === 'COMPACTED')) throw error;
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.timer);
    for (const watch of [...this.watches]) watch.end(new StoreError('CLOSED', 'the store is closed'));
    this.connection.close();
  }

  private async change(key: string, expected: number, op: (name: Buffer) => RequestOp): Promise<number> {
    const name = this.keys.toEtcd(key);
    const { header, succeeded, responses } = await this.connection.write('Txn', {
      compare: [{ result: 'EQUAL', target: 'MOD', key: name, modRevision: expected }],
      // A key that is not there counts as revision 0, and nothing may be made of nothing.
      success: expected > 0 ? [op(name)] : [],
      failure: [{ requestRange: { key: name, keysOnly: true } }],
    });
    if (succeeded && expected > 0) return header.revision;
    const held = responses[0]?.responseRange?.kvs[0];
    if (held === undefined) throw new StoreError('MISSING', `key ${key} does not exist`);
    throw new StoreError('CONFLICT', `key ${key} is at revision ${held.modRevision}, not ${expected}`);
  }

  /** Forgets what was the past at the last tick, so that at least one whole period is always kept. */
  private async forget(): Promise<void> {
    try {
      if (this.lastTick !== undefined) await this.compact(this.lastTick);
      this.lastTick = await this.revision();
    } catch {
      // etcd is away or we are closing; the next tick tries again, and nothing is lost by keeping more.
    }
  }
}
