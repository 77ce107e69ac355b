// Kinds that are seldom read, on a real LMDB store: their bytes are in the file, and every reader sees what it saw before.
import { expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { configMapKind } from '../../../../src/api/kinds/configMap.js';
import { eventKind } from '../../../../src/api/kinds/event.js';
import { silentLog } from '../../../../src/api/log.js';
import type { CachedObject } from '../../../../src/apiserver/registry/cached.js';
import { Feed } from '../../../../src/apiserver/registry/feed.js';
import { History } from '../../../../src/apiserver/registry/history.js';
import { allOf, listObjects } from '../../../../src/apiserver/registry/list.js';
import type { ServerContext } from '../../../../src/apiserver/serverContext.js';
import { openLmdbStore } from '../../../../src/store/lmdb/store.js';
import type { Store } from '../../../../src/store/store.js';
import { MemoryStore } from '../../../support/memoryStore.js';
import { storeFolder } from '../../../support/storeFolder.js';

const event = eventKind as KindDefinition;
const configMap = configMapKind as KindDefinition;
const KEY = '/registry/events/default/e';
const AGE_MS = 1000;

const stored = (message: string) => Buffer.from(JSON.stringify({ metadata: { name: 'e' }, message }));
const messageOf = (object: CachedObject | undefined) => object?.parse<{ message: string }>().message;

interface Place {
  readonly store: Store;
  readonly feed: Feed;
  /** Lets what is held for watchers become too old. */
  age(): void;
}

async function withFeed(store: Store, use: (place: Place) => Promise<void>): Promise<void> {
  let now = 0;
  const history = new History({ ageMs: AGE_MS, now: () => now });
  const feed = new Feed(store, [event, configMap], silentLog, history);
  await feed.open();
  const age = () => {
    now += AGE_MS + 1;
    history.expire();
  };
  try {
    await use({ store, feed, age });
  } finally {
    feed.close();
    await store.close();
  }
}

async function onLmdb(use: (place: Place) => Promise<void>): Promise<void> {
  const { folder, remove } = await storeFolder();
  try {
    await withFeed(await openLmdbStore({ path: folder }), use);
  } finally {
    await remove();
  }
}

/** True when each look makes the bytes anew. */
function isInStore(object: CachedObject | undefined): boolean {
  const bytes = object?.bytes;
  return object?.bytes !== bytes;
}

test('an event that watchers no longer resume from is in the store alone, and reads as before', () =>
  onLmdb(async ({ store, feed, age }) => {
    const revision = await store.create(KEY, stored('first'));
    const held = feed.cacheOf(event).get(KEY) as CachedObject;
    const sent = held.bytes;
    expect(isInStore(held)).toBe(false);
    age();
    expect(isInStore(held)).toBe(true);
    expect(held.bytes).toEqual(sent);
    expect(held.size).toBe(sent.length);
    expect(held.revision).toBe(revision);
    expect(held.summary.metadata?.name).toBe('e');
  }));

test('whoever holds a version that is replaced or deleted still reads that one', () =>
  onLmdb(async ({ store, feed, age }) => {
    const first = await store.create(KEY, stored('first'));
    age();
    const before = feed.cacheOf(event).get(KEY);
    const second = await store.update(KEY, stored('second'), first);
    age();
    const after = feed.cacheOf(event).get(KEY);
    expect(isInStore(after)).toBe(true);
    await store.delete(KEY, second);
    const last = feed.cacheOf(event).window.at(feed.cacheOf(event).window.end - 1)?.object;
    age();
    expect([before, after, last].map(messageOf)).toEqual(['first', 'second', 'second']);
  }));

test('a change that is on disk and not told yet hides nothing of the version before', () =>
  onLmdb(async ({ store, feed, age }) => {
    const first = await store.create(KEY, stored('first'));
    age();
    const held = feed.cacheOf(event).get(KEY);
    const seen = new Set<string | undefined>();
    let isDone = false;
    const written = store.update(KEY, stored('second'), first).then(() => {
      isDone = true;
    });
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      // The store's own thread goes on; what it tells waits for this one.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      seen.add(messageOf(held));
    }
    await written;
    expect([...seen]).toEqual(['first']);
  }));

test('after a restart events are not read into memory; other kinds are', () =>
  onLmdb(async ({ store, feed }) => {
    await store.create(KEY, stored('first'));
    await store.create('/registry/configmaps/default/e', stored('first'));
    feed.close();
    const again = new Feed(store, [event, configMap], silentLog);
    await again.open();
    expect(isInStore(again.cacheOf(event).get(KEY))).toBe(true);
    expect(messageOf(again.cacheOf(event).get(KEY))).toBe('first');
    expect(isInStore(again.cacheOf(configMap).get('/registry/configmaps/default/e'))).toBe(false);
    again.close();
  }));

test('on a store that answers later they stay in memory', () =>
  withFeed(new MemoryStore(), async ({ store, feed, age }) => {
    await feed.reached(await store.create(KEY, stored('first')));
    age();
    expect(isInStore(feed.cacheOf(event).get(KEY))).toBe(false);
  }));

test('a value that the store never had is an error, not another value', () =>
  onLmdb(async ({ store }) => {
    const revision = await store.create(KEY, stored('first'));
    expect(() => store.valueAt?.(KEY, revision + 1)).toThrow('was not written at revision');
  }));

test('a selector over thousands of them is answered in steps, as of the moment it was asked', () =>
  onLmdb(async ({ store, feed, age }) => {
    const name = (i: number) => `e${String(i).padStart(4, '0')}`;
    const about = (i: number, pod: string) =>
      Buffer.from(JSON.stringify({ metadata: { name: name(i) }, involvedObject: { name: pod } }));
    const revisions = await Promise.all(
      Array.from({ length: 1000 }, (_, i) =>
        store.create(`/registry/events/default/${name(i)}`, about(i, i % 500 === 499 ? 'web' : 'other')),
      ),
    );
    age();
    const server = { feed, store } as unknown as ServerContext;
    const query = new URLSearchParams({ fieldSelector: 'involvedObject.name=web' });
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const asked = listObjects(server, event, 'default', query);
    await store.update(`/registry/events/default/${name(999)}`, about(999, 'other'), revisions[999] ?? 0);
    const page = await asked;
    isDone = true;
    expect(turns).toBeGreaterThan(3);
    expect((await allOf(page)).map(({ key }) => key)).toEqual(
      [499, 999].map((i) => `/registry/events/default/${name(i)}`),
    );
    const limited = new URLSearchParams({ fieldSelector: 'involvedObject.name=other', limit: '2' });
    const first = await listObjects(server, event, 'default', limited);
    expect(first.count).toBe(2);
    expect(first.continueToken).not.toBe('');
  }));
