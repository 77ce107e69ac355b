// Writes many keys to etcd at once, for restoring a snapshot.
// Guarantees: nothing outside the prefix is touched; transactions stay below etcd's limits of number and size.
import type { Entry } from '../store.js';
import { Connection } from './connection.js';
import { Keyspace } from './keyspace.js';
import type { EtcdStoreOptions } from './store.js';

export type { EtcdStoreOptions } from './store.js';

/** etcd takes 128 operations and 1.5 MiB in one transaction. */
const MOST_KEYS = 100;
const MOST_BYTES = 1_000_000;

interface EtcdTarget {
  count(): Promise<number>;
  /** Removes every key; answers the revision. */
  clear(): Promise<number>;
  put(entries: readonly Entry[]): Promise<number>;
  close(): void;
}

export function openEtcdTarget(options: EtcdStoreOptions): EtcdTarget {
  const { endpoints, tls, prefix = '', timeoutMs = 60_000, patienceMs = 3_000 } = options;
  const connection = new Connection({
    endpoints,
    timeoutMs,
    patienceMs,
    ...(tls === undefined ? {} : { tls }),
  });
  const keys = new Keyspace(prefix);
  return {
    async count() {
      return (await connection.read('Range', { ...keys.range(''), countOnly: true })).count;
    },
    async clear() {
      return (await connection.write('DeleteRange', keys.range(''))).header.revision;
    },
    async put(entries) {
      let revision = 0;
      for (const batch of batches(entries)) {
        const success = batch.map(({ key, value }) => ({ requestPut: { key: keys.toEtcd(key), value } }));
        const { header } = await connection.write('Txn', { compare: [], success, failure: [] });
        revision = header.revision;
      }
      return revision;
    },
    close: () => connection.close(),
  };
}

/** In order, each as large as etcd takes. */
export function* batches(entries: readonly Entry[]): Generator<readonly Entry[]> {
  let batch: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = entry.key.length + entry.value.length;
    if (batch.length > 0 && (batch.length >= MOST_KEYS || bytes + size > MOST_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
