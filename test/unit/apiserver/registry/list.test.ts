// Lists of an older state that few or no objects match, on a real LMDB store.
import { expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { configMapKind } from '../../../../src/api/kinds/configMap.js';
import { silentLog } from '../../../../src/api/log.js';
import { Feed } from '../../../../src/apiserver/registry/feed.js';
import { History } from '../../../../src/apiserver/registry/history.js';
import { allOf, listObjects } from '../../../../src/apiserver/registry/list.js';
import type { ServerContext } from '../../../../src/apiserver/serverContext.js';
import { openLmdbStore } from '../../../../src/store/lmdb/store.js';
import type { ListOptions, Store } from '../../../../src/store/store.js';
import { storeFolder } from '../../../support/storeFolder.js';

const kind = configMapKind as KindDefinition;
const MAPS = 1_500;
const PREFIX = '/registry/configmaps/default/';

const bytes = (name: string, labels: object) => Buffer.from(JSON.stringify({ metadata: { name, labels } }));

/** The same store, whose lists are counted. */
function counting(store: Store) {
  const asked: ListOptions[] = [];
  const counted: Store = {
    revision: () => store.revision(),
    get: (key) => store.get(key),
    list: (options) => {
      asked.push(options);
      return store.list(options);
    },
    create: (key, value) => store.create(key, value),
    update: (key, value, expected) => store.update(key, value, expected),
    delete: (key, expected) => store.delete(key, expected),
    transact: (writes) => store.transact(writes),
    watch: (options) => store.watch(options),
    compact: (revision) => store.compact(revision),
    close: () => store.close(),
  };
  return { counted, asked };
}

test('a page of one object is read in a few questions, however many have to be passed over', async () => {
  const { folder, remove } = await storeFolder();
  const { counted, asked } = counting(await openLmdbStore({ path: folder }));
  const feed = new Feed(counted, [kind], silentLog, new History({ ageMs: 60_000, now: () => 0 }));
  try {
    await feed.open();
    const names = Array.from({ length: MAPS }, (_, at) => `m${String(at).padStart(5, '0')}`);
    await Promise.all(
      names.map((name, at) =>
        counted.create(`${PREFIX}${name}`, bytes(name, at === MAPS - 1 ? { is: 'last' } : {})),
      ),
    );
    const revision = await counted.revision();
    await counted.create(`${PREFIX}later`, bytes('later', {}));
    await feed.current();
    asked.length = 0;
    const server = { store: counted, feed } as unknown as ServerContext;
    const pageFor = async (labelSelector: string) => {
      const query = {
        limit: '1',
        labelSelector,
        resourceVersion: `${revision}`,
        resourceVersionMatch: 'Exact',
      };
      const page = await listObjects(server, kind, '', new URLSearchParams(query));
      return (await allOf(page)).map(({ key }) => key);
    };
    expect(await pageFor('no=one')).toEqual([]);
    expect(await pageFor('is=last')).toEqual([`${PREFIX}${names.at(-1)}`]);
    // Batches of up to 500, of which the first is small.
    expect(asked.length).toBeLessThanOrEqual(10);
  } finally {
    feed.close();
    await counted.close();
    await remove();
  }
});
