// Where the state of a cluster is kept, as flags tell it: in a folder by LMDB, or in etcd.
// Guarantees: only the store that is wanted is loaded; a file that cannot be read is named.
import { readFileSync } from 'node:fs';
import type { EtcdStoreOptions } from './etcd/target.js';
import { type Store, StoreError } from './store.js';

/** By kube-apiserver's names. */
export interface EtcdPlace {
  /** Addresses with commas between; none, or an empty text, is LMDB. */
  readonly etcdServers?: string;
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
}

/** Undefined when the place is not etcd. */
export function etcdOptions(place: EtcdPlace): EtcdStoreOptions | undefined {
  const endpoints = (place.etcdServers ?? '')
    .split(',')
    .map((url) => url.trim())
    .filter(Boolean);
  if (endpoints.length === 0) return undefined;
  const tls = {
    ...pem('ca', place.etcdCafile),
    ...pem('cert', place.etcdCertfile),
    ...pem('key', place.etcdKeyfile),
  };
  return { endpoints, ...(Object.keys(tls).length === 0 ? {} : { tls }) };
}

/** `folder` is where LMDB keeps it, made when it is not there. */
export async function openStoreAt(place: EtcdPlace, folder: string): Promise<Store> {
  const etcd = etcdOptions(place);
  if (etcd !== undefined) return (await import('./etcd/store.js')).openEtcdStore(etcd);
  return (await import('./lmdb/store.js')).openLmdbStore({ path: folder });
}

function pem(name: 'ca' | 'cert' | 'key', file: string | undefined): Partial<Record<typeof name, string>> {
  if (file === undefined || file === '') return {};
  try {
    return { [name]: readFileSync(file, 'utf8') };
  } catch (cause) {
    throw new StoreError('UNAVAILABLE', `cannot read ${file}: ${(cause as Error).message}`, { cause });
  }
}
