// The store's contract on a real etcd, and what only etcd has: several processes, members that go away, TLS.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openEtcdStore } from '../../../src/store/etcd/store.js';
import type { Store, StoreEvent } from '../../../src/store/store.js';
import { storeContract } from '../../support/contracts/store.js';
import { startEtcd, type TestEtcd } from '../../support/etcd.js';
import { describeWith } from '../../support/requires.js';
import { makeTestPki, type TestPki } from '../../support/testPki.js';
import { until } from '../../support/until.js';

const bytes = (text: string) => Buffer.from(text);

describeWith({ tools: ['etcd'] }, 'the store on etcd', () => {
  let etcd: TestEtcd;
  let made = 0;
  const opened: Store[] = [];
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });

  const open = async (prefix: string, endpoints = [etcd.endpoint]) => {
    const store = await openEtcdStore({ endpoints, prefix });
    opened.push(store);
    return store;
  };

  storeContract('etcd', async () => {
    const store = await openEtcdStore({ endpoints: [etcd.endpoint], prefix: `/contract-${++made}` });
    return { store, close: () => store.close() };
  });

  test('two stores see one another’s writes, in one order', async () => {
    const prefix = `/two-${++made}`;
    const stores = [await open(prefix), await open(prefix)] as const;
    const after = await stores[0].revision();
    const seen: number[][] = [[], []];
    for (const [index, store] of stores.entries()) {
      const onEvents = (events: readonly StoreEvent[]) =>
        void seen[index]?.push(...events.map(({ revision }) => revision));
      await store.watch({ prefix: '/', after, onEvents, onError: () => {} });
    }
    const written = await Promise.all(
      Array.from({ length: 200 }, (_, i) => stores[i % 2 === 0 ? 0 : 1].create(`/k${i}`, bytes('v'))),
    );
    const wanted = [...written].sort((a, b) => a - b);
    await until(() => expect(seen.map(({ length }) => length)).toEqual([200, 200]));
    expect(seen).toEqual([wanted, wanted]);
    expect(await stores[1].get('/k0')).toEqual(await stores[0].get('/k0'));
    const { revision } = (await stores[0].get('/k1')) ?? { revision: 0 };
    const races = await Promise.allSettled(
      stores.map((store) => store.update('/k1', bytes('mine'), revision)),
    );
    expect(races.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a watch tells how far it is, also when others write elsewhere', async () => {
    const [ours, others] = [await open('/ours'), await open('/others')];
    let reached = 0;
    const seen: StoreEvent[] = [];
    await ours.watch({
      prefix: '/',
      after: await ours.revision(),
      onEvents: (events) => void seen.push(...events),
      onProgress: (revision) => {
        reached = revision;
      },
      onError: () => {},
    });
    const revision = await others.create('/x', bytes('1'));
    await until(() => expect(reached).toBe(revision));
    expect(seen).toEqual([]);
  });

  test('a value over etcd’s limit is refused as too large', async () => {
    const store = await open('/large');
    // The larger one is refused by gRPC, before etcd has read it.
    for (const bytes of [2_000_000, 3_000_000])
      await expect(store.create('/a', Buffer.alloc(bytes))).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });

  test('a long list is read in pages of one revision', async () => {
    const store = await open('/long');
    await Promise.all(Array.from({ length: 2_300 }, (_, i) => store.create(`/k/${i}`, bytes('v'))));
    const whole = await store.list({ prefix: '/k/' });
    expect([whole.entries.length, whole.remaining]).toEqual([2_300, 0]);
    const part = await store.list({ prefix: '/k/', limit: 1_500 });
    expect([part.entries.length, part.remaining]).toEqual([1_500, 800]);
  });
});

describeWith({ tools: ['etcd'] }, 'an etcd that goes away', () => {
  test('nobody there: UNAVAILABLE that names the endpoint', async () => {
    const opening = openEtcdStore({ endpoints: ['http://127.0.0.1:1'], patienceMs: 0 });
    await expect(opening).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('etcd at http://127.0.0.1:1 cannot be reached'),
    });
    const wrong = openEtcdStore({ endpoints: ['127.0.0.1:2379'] });
    await expect(wrong).rejects.toThrow('is not of the form https://host:2379');
  });

  test('the next endpoint is used when the first does not answer', async () => {
    const etcd = await startEtcd();
    try {
      const store = await openEtcdStore({ endpoints: ['http://127.0.0.1:1', etcd.endpoint] });
      const revision = await store.create('/a', bytes('1'));
      expect((await store.get('/a'))?.revision).toBe(revision);
      await store.close();
    } finally {
      await etcd.stop();
    }
  });

  test('after a crash and restart reads, writes and watches go on, with no change lost or doubled', async () => {
    const etcd = await startEtcd();
    try {
      const store = await openEtcdStore({ endpoints: [etcd.endpoint], patienceMs: 200, timeoutMs: 10_000 });
      const seen: string[] = [];
      const errors: Error[] = [];
      await store.watch({
        prefix: '/',
        after: await store.revision(),
        onEvents: (events) => void seen.push(...events.map(({ key }) => key)),
        onError: (error) => void errors.push(error),
      });
      await store.create('/before', bytes('1'));
      await until(() => expect(seen).toEqual(['/before']));
      await etcd.kill();
      await expect(store.get('/before')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await expect(store.create('/during', bytes('1'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await etcd.start();
      await until(() => store.create('/after', bytes('1')));
      await until(() => expect(seen).toEqual(['/before', '/after']));
      expect(errors).toEqual([]);
      await store.close();
    } finally {
      await etcd.stop();
    }
  });
});

describeWith({ tools: ['etcd'] }, 'etcd with TLS', () => {
  describe('that wants client certificates', () => {
    let etcd: TestEtcd;
    let pki: TestPki;
    beforeAll(async () => {
      pki = await makeTestPki();
      etcd = await startEtcd({ tls: { ca: pki.ca, server: await pki.server() } });
    });
    afterAll(() => etcd.stop());

    test('lets in who has one', async () => {
      const tls = { ca: pki.ca, ...(await pki.client('apiserver')) };
      const store = await openEtcdStore({ endpoints: [etcd.endpoint], tls });
      expect(await store.create('/a', bytes('1'))).toBeGreaterThan(0);
      await store.close();
    });

    test('refuses one who has none, or one of another authority; and is itself refused by who does not know it', async () => {
      const stranger = await makeTestPki();
      const own = await pki.client('apiserver');
      const refused = [
        { ca: pki.ca },
        { ca: pki.ca, ...(await stranger.client('apiserver')) },
        { ca: stranger.ca, ...own },
      ];
      for (const tls of refused) {
        const opening = openEtcdStore({ endpoints: [etcd.endpoint], tls, patienceMs: 0 });
        await expect(opening).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      }
      const plain = openEtcdStore({ endpoints: [etcd.endpoint.replace('https', 'http')], tls: own });
      await expect(plain).rejects.toThrow('is not https');
    });
  });
});
