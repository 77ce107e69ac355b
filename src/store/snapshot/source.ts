// Where a snapshot is taken from: every key of a store at one revision.
// Guarantees: one consistent state; a store in LMDB may be in use by a running server meanwhile.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { FILE, openReadOnly } from '../lmdb/database.js';
import { rangeOf, Snapshot } from '../lmdb/snapshot.js';
import { type Entry, type Store, StoreError } from '../store.js';

export interface SnapshotSource {
  readonly revision: number;
  readonly keys: number;
  entries(): AsyncIterable<readonly Entry[]>;
  close(): Promise<void>;
}

const PAGE = 500;

export function lmdbSource(folder: string): SnapshotSource {
  if (!existsSync(path.join(folder, FILE))) {
    throw new StoreError('MISSING', `there is no store in ${folder}`);
  }
  const tables = openReadOnly(folder);
  const snapshot = new Snapshot(tables);
  const everything = rangeOf('');
  return {
    revision: snapshot.newest(),
    keys: snapshot.count(everything),
    async *entries() {
      let page: Entry[] = [];
      for (const entry of snapshot.entries(everything)) {
        if (page.push(entry) < PAGE) continue;
        yield page;
        page = [];
      }
      if (page.length > 0) yield page;
    },
    async close() {
      snapshot.close();
      await tables.close();
    },
  };
}

/** Any store, in pages of one revision. Closes it at the end. */
export async function storeSource(store: Store): Promise<SnapshotSource> {
  const first = await store.list({ prefix: '', limit: PAGE });
  const { revision } = first;
  return {
    revision,
    keys: first.entries.length + first.remaining,
    async *entries() {
      for (let page = first; ; ) {
        if (page.entries.length > 0) yield page.entries;
        const last = page.entries.at(-1);
        if (page.remaining === 0 || last === undefined) return;
        page = await store.list({ prefix: '', limit: PAGE, after: last.key, revision });
      }
    },
    close: () => store.close(),
  };
}
