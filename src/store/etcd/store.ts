// The store on etcd v3: revisions are etcd's own, writes are transactions on the revision of their key.
// Guarantees: those of Store, also between several processes on one etcd; history is forgotten after a time.
import {
  type Check,
  type Entry,
  existsAlready,
  type ListOptions,
  type ListResult,
  notAsExpected,
  type Store,
  StoreError,
  type WatchOptions,
  type Write,
} from '../store.js';
import { Connection } from './connection.js';
import type { EtcdTls } from './endpoint.js';
import { Keyspace } from './keyspace.js';
import type { Compare, RangeResponse, RequestOp } from './messages.js';
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

function compareOf(write: Write | Check, key: Buffer): Compare {
  const modRevision = write.verb === 'create' ? 0 : write.expected;
  return { result: 'EQUAL', target: 'MOD', key, modRevision };
}

/** None for a check. */
function requestsOf(write: Write | Check, key: Buffer): RequestOp[] {
  return write.verb === 'check' ? [] : [requestOf(write, key)];
}

function requestOf(write: Write, key: Buffer): RequestOp {
  if (write.verb === 'delete') return { requestDeleteRange: { key } };
  return { requestPut: { key, value: Buffer.from(write.value) } };
}

class EtcdStore implements Store {
  readonly #connection: Connection;
  readonly #keys: Keyspace;

  readonly #watches = new Set<EtcdWatch>();
  readonly #timer: NodeJS.Timeout | undefined;
  #lastTick: number | undefined;
  #closed = false;

  constructor(connection: Connection, keys: Keyspace, historyMs: number) {
    this.#connection = connection;
    this.#keys = keys;

    if (historyMs > 0) this.#timer = setInterval(() => void this.#forget(), historyMs).unref();
  }

  async revision(): Promise<number> {
    const { header } = await this.#connection.read('Range', { key: Buffer.of(0), countOnly: true });
    return header.revision;
  }

  async get(key: string): Promise<Entry | undefined> {
    const { kvs } = await this.#connection.read('Range', { key: this.#keys.toEtcd(key) });
    return kvs[0] === undefined ? undefined : this.#keys.entry(kvs[0]);
  }

  async list({ prefix, limit = 0, after, revision = 0 }: ListOptions): Promise<ListResult> {
    const entries: Entry[] = [];
    let at = revision;
    let last = after;
    for (;;) {
      const size = limit > 0 ? Math.min(PAGE, limit - entries.length) : PAGE;
      const page: RangeResponse = await this.#connection.read('Range', {
        ...this.#keys.range(prefix, last),
        limit: size,
        revision: at,
      });
      // The first page's moment is that of the whole list.
      if (at === 0) at = page.header.revision;
      for (const kv of page.kvs) entries.push(this.#keys.entry(kv));
      last = entries.at(-1)?.key;
      const isDone = !page.more || page.kvs.length === 0 || (limit > 0 && entries.length >= limit);
      if (isDone) return { entries, revision: at, remaining: page.count - page.kvs.length };
    }
  }

  create(key: string, value: Uint8Array): Promise<number> {
    return this.#commit([{ verb: 'create', key, value }]);
  }

  update(key: string, value: Uint8Array, expected: number): Promise<number> {
    return this.#commit([{ verb: 'update', key, value, expected }]);
  }

  delete(key: string, expected: number): Promise<number> {
    return this.#commit([{ verb: 'delete', key, expected }]);
  }

  async transact(writes: readonly (Write | Check)[]): Promise<readonly number[]> {
    const revision = await this.#commit(writes);
    return writes.filter(({ verb }) => verb !== 'check').map(() => revision);
  }

  async watch(options: WatchOptions): Promise<{ close(): void }> {
    // etcd itself would wait for a revision that is yet to come, and tells of a forgotten one only later.
    const { after } = options;
    const check = { key: Buffer.of(0), countOnly: true, revision: Math.max(after, 1) };
    await this.#connection.read('Range', check).catch((cause: StoreError) => {
      if (cause.code !== 'COMPACTED' && cause.code !== 'FUTURE') throw cause;
      const what = cause.code === 'FUTURE' ? 'is yet to come' : 'is no longer kept';
      throw new StoreError(cause.code, `revision ${after} ${what}`, { cause });
    });
    const watch: EtcdWatch = new EtcdWatch(this.#connection, this.#keys, options, () =>
      this.#watches.delete(watch),
    );
    this.#watches.add(watch);
    watch.open();
    return { close: () => watch.close() };
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.#connection.write('Compact', { revision });
    } catch (error) {
      // Somebody else forgot it already.
      if (!(error instanceof StoreError && error.code === 'COMPACTED')) throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    for (const watch of [...this.#watches]) watch.end(new StoreError('CLOSED', 'the store is closed'));
    this.#connection.close();
  }

  /** One revision for all. Who was refused is read in the same transaction. */
  async #commit(writes: readonly (Write | Check)[]): Promise<number> {
    // etcd counts a key that is not there as revision 0, and nothing may be made of nothing.
    for (const write of writes)
      if (write.verb !== 'create' && write.expected <= 0) throw notAsExpected(write.key, 0, write.expected);
    const names = writes.map(({ key }) => this.#keys.toEtcd(key));
    const { header, succeeded, responses } = await this.#connection.write('Txn', {
      compare: writes.map((write, at) => compareOf(write, names[at] as Buffer)),
      success: writes.flatMap((write, at) => requestsOf(write, names[at] as Buffer)),
      failure: names.map((key) => ({ requestRange: { key, keysOnly: true } })),
    });
    if (succeeded) return header.revision;
    for (const [at, write] of writes.entries()) {
      const held = responses[at]?.responseRange?.kvs[0]?.modRevision ?? 0;
      const expected = write.verb === 'create' ? 0 : write.expected;
      if (held === expected) continue;
      throw write.verb === 'create' ? existsAlready(write.key) : notAsExpected(write.key, held, expected);
    }
    throw new StoreError('UNAVAILABLE', 'etcd refused a transaction and does not say why');
  }

  /** Forgets what was the past at the last tick, so that at least one whole period is always kept. */
  async #forget(): Promise<void> {
    try {
      if (this.#lastTick !== undefined) await this.compact(this.#lastTick);
      this.#lastTick = await this.revision();
    } catch {
      // etcd is away or we are closing; the next tick tries again, and nothing is lost by keeping more.
    }
  }
}
