// Lists of an older state of the embedded store: what they cost.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Snapshot } from '../../../../src/store/lmdb/snapshot.js';
import { openLmdbStore } from '../../../../src/store/lmdb/store.js';
import type { Store } from '../../../../src/store/store.js';
import { storeFolder } from '../../../support/storeFolder.js';

const KEYS = 600;
const name = (at: number) => `/registry/configmaps/default/${String(at).padStart(4, '0')}`;

describe('lists of an older state', () => {
  let store: Store;
  let remove: () => Promise<void>;

  beforeEach(async () => {
    const made = await storeFolder();
    remove = made.remove;
    store = await openLmdbStore({ path: made.folder });
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    await store.close();
    await remove();
  });

  /** Every key made and changed; every second one removed and others made behind. Answers the revision before that. */
  async function changeAll(): Promise<number> {
    const made = await Promise.all(
      Array.from({ length: KEYS }, (_, at) => store.create(name(at), Buffer.from('then'))),
    );
    const then = await store.revision();
    const changed = await Promise.all(
      made.map((revision, at) => store.update(name(at), Buffer.from('now'), revision)),
    );
    await Promise.all(
      changed.filter((_, at) => at % 2 === 0).map((revision, at) => store.delete(name(at * 2), revision)),
    );
    await Promise.all(
      Array.from({ length: KEYS }, (_, at) => store.create(name(KEYS + at), Buffer.from('new'))),
    );
    return then;
  }

  async function pages(revision: number, limit: number): Promise<string[][]> {
    const all: string[][] = [];
    for (let after: string | undefined; ; ) {
      const { entries, remaining } = await store.list({
        prefix: '/registry/configmaps/',
        limit,
        revision,
        ...(after === undefined ? {} : { after }),
      });
      all.push(entries.map(({ key, value }) => `${key}=${value}`));
      expect(remaining).toBe(KEYS - all.flat().length);
      after = entries.at(-1)?.key;
      if (remaining === 0) return all;
    }
  }

  test('the log is read once for all pages, and each page reads about as many keys as it holds', async () => {
    const then = await changeAll();
    const read = { log: 0, keys: 0 };
    const { changes, entries } = Snapshot.prototype;
    vi.spyOn(Snapshot.prototype, 'changes').mockImplementation(function* (this: Snapshot, ...range) {
      for (const change of changes.apply(this, range)) {
        read.log += 1;
        yield change;
      }
    });
    vi.spyOn(Snapshot.prototype, 'entries').mockImplementation(function* (this: Snapshot, range) {
      for (const entry of entries.call(this, range)) {
        read.keys += 1;
        yield entry;
      }
    });
    const all = await pages(then, 20);
    expect(all.flat()).toEqual(Array.from({ length: KEYS }, (_, at) => `${name(at)}=then`));
    expect(all).toHaveLength(KEYS / 20);
    expect(read.log).toBe(KEYS + KEYS / 2 + KEYS);
    // The last page may look at those that were made since.
    expect(read.keys).toBeLessThan(4 * KEYS);
  });

  test('changes between two pages do not show, and the loop turns while a page is made', async () => {
    const then = await changeAll();
    let turns = 0;
    let isDone = false;
    const turn = () => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const first = await store.list({ prefix: '/registry/', limit: 10, revision: then });
    isDone = true;
    expect(turns).toBeGreaterThan(2);
    const held = await store.get(name(11));
    await store.delete(name(11), held?.revision ?? 0);
    await store.create('/registry/configmaps/default/0010a', Buffer.from('new'));
    const rest = await store.list({
      prefix: '/registry/',
      limit: 5,
      revision: then,
      after: first.entries.at(-1)?.key ?? '',
    });
    expect(rest.entries.map(({ key, value }) => `${key}=${value}`)).toEqual(
      [10, 11, 12, 13, 14].map((at) => `${name(at)}=then`),
    );
    expect(rest.remaining).toBe(KEYS - 15);
  });

  test('a store that closes ends a list, and does not unmap its file beneath it', async () => {
    const then = await changeAll();
    const listing = store.list({ prefix: '/registry/', revision: then });
    const closed = store.close();
    await expect(listing).rejects.toMatchObject({ code: 'CLOSED' });
    await closed;
  });
});
