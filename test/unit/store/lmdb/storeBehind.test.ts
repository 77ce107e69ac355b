// Many watches that start far behind, on a store whose newest changes no longer hold what they missed.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openLmdbStore } from '../../../../src/store/lmdb/store.js';
import { storeFolder } from '../../../support/storeFolder.js';
import { until } from '../../../support/until.js';

describe('a store with a long history', () => {
  let folder: string;
  let remove: () => Promise<void>;
  beforeEach(async () => {
    ({ folder, remove } = await storeFolder());
  });
  afterEach(() => remove());

  const churn = async (store: Awaited<ReturnType<typeof openLmdbStore>>, changes: number) => {
    const revisions = new Map<string, number>();
    for (let done = 0; done < changes; done += 500) {
      await Promise.all(
        Array.from({ length: 500 }, async (_, i) => {
          const key = `/k/${i}`;
          const held = revisions.get(key);
          const value = Buffer.alloc(20, done);
          revisions.set(
            key,
            await (held === undefined ? store.create(key, value) : store.update(key, value, held)),
          );
        }),
      );
    }
  };

  test('many watches from the start of 12,000 changes see all of them, and writes go on meanwhile', async () => {
    const store = await openLmdbStore({ path: folder });
    await churn(store, 12_000);
    const counts = Array.from({ length: 300 }, () => ({ seen: 0, last: 0, isOrdered: true }));
    for (const count of counts) {
      await store.watch({
        prefix: '/k/',
        after: 0,
        onEvents: (events) => {
          for (const { revision } of events) {
            count.isOrdered &&= revision === count.last + 1;
            count.last = revision;
            count.seen += 1;
          }
        },
        onError: () => {},
      });
    }
    // Written while the past is being told: neither lost nor doubled.
    for (let i = 0; i < 20; i++) await store.create(`/k/new-${i}`, Buffer.from('x'));
    await until(() => expect(counts.every(({ seen }) => seen === 12_020)).toBe(true));
    expect(counts.every(({ isOrdered }) => isOrdered)).toBe(true);
    await store.close();
  });
});
