// What every store promises, whatever is beneath it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Store, StoreEvent } from '../../../src/store/store.js';
import { until } from '../until.js';

/** Patient: what a busy machine delays is not wrong. */

const bytes = (text: string) => Buffer.from(text);

interface StoreUnderTest {
  readonly store: Store;
  /** Ends it and removes what it left. */
  close(): Promise<void>;
}

export function storeContract(title: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the store on ${title}`, () => {
    let under: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      under = await open();
      store = under.store;
    });
    afterEach(() => under.close());

    /** A list as `key=value` words. */
    const listed = async (options: Parameters<Store['list']>[0]) =>
      (await store.list(options)).entries.map(({ key, value }) => `${key}=${value}`).join(' ');

    const follow = async (prefix: string, after: number) => {
      const seen: StoreEvent[] = [];
      const errors: Error[] = [];
      const onEvents = (events: readonly StoreEvent[]) => void seen.push(...events);
      const watch = await store.watch({
        prefix,
        after,
        onEvents,
        onError: (error) => void errors.push(error),
      });
      const words = () => seen.map(({ type, key, value, revision }) => `${type} ${key}=${value}@${revision}`);
      return { seen, errors, words, close: () => watch.close() };
    };

    test('starts empty, and a new key is found with its revision', async () => {
      const empty = await store.revision();
      expect(await store.get('/a')).toBeUndefined();
      const revision = await store.create('/a', bytes('1'));
      expect(revision).toBeGreaterThan(empty);
      expect(await store.get('/a')).toEqual({ key: '/a', value: bytes('1'), revision });
      expect(await store.revision()).toBe(revision);
    });

    test('values come back byte for byte, also empty and large ones', async () => {
      const values = [Buffer.alloc(0), Buffer.of(0, 255, 10, 0), Buffer.alloc(1_500_000, 'ü')];
      for (const [index, value] of values.entries()) await store.create(`/v${index}`, value);
      for (const [index, value] of values.entries()) {
        expect((await store.get(`/v${index}`))?.value.equals(value)).toBe(true);
      }
      const { entries } = await store.list({ prefix: '/v' });
      expect(entries.map(({ value }) => value.length)).toEqual(values.map(({ length }) => length));
    });

    test('what the caller does with its buffer afterwards changes nothing', async () => {
      const value = bytes('before');
      const written = store.create('/a', value);
      value.fill('x');
      await written;
      expect(String((await store.get('/a'))?.value)).toBe('before');
    });

    test('create, update and delete are refused when the key is not as expected', async () => {
      const first = await store.create('/a', bytes('1'));
      await expect(store.create('/a', bytes('2'))).rejects.toMatchObject({ code: 'EXISTS' });
      const second = await store.update('/a', bytes('2'), first);
      await expect(store.update('/a', bytes('3'), first)).rejects.toMatchObject({ code: 'CONFLICT' });
      await expect(store.delete('/a', first)).rejects.toMatchObject({ code: 'CONFLICT' });
      const third = await store.delete('/a', second);
      expect(third).toBeGreaterThan(second);
      await expect(store.delete('/a', second)).rejects.toMatchObject({ code: 'MISSING' });
      await expect(store.update('/a', bytes('3'), second)).rejects.toMatchObject({ code: 'MISSING' });
      expect(await store.get('/a')).toBeUndefined();
      expect(await store.create('/a', bytes('4'))).toBeGreaterThan(third);
    });

    test('of many who update one revision at once exactly one succeeds', async () => {
      const first = await store.create('/a', bytes('0'));
      const tries = await Promise.allSettled(
        Array.from({ length: 50 }, (_, index) => store.update('/a', bytes(String(index)), first)),
      );
      expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const codes = tries.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
      expect(new Set(codes)).toEqual(new Set(['CONFLICT']));
    });

    test('concurrent writers each get a revision of their own', async () => {
      const revisions = await Promise.all(
        Array.from({ length: 500 }, (_, index) => store.create(`/k${index}`, bytes('v'))),
      );
      expect(new Set(revisions).size).toBe(500);
      expect(await store.revision()).toBe(Math.max(...revisions));
    });

    test('a transaction is made as a whole, and told in one piece', async () => {
      const held = await store.create('/t/held', bytes('0'));
      const gone = await store.create('/t/gone', bytes('0'));
      const watch = await follow('/t/', await store.revision());
      const revisions = await store.transact([
        { verb: 'create', key: '/t/new', value: bytes('1') },
        { verb: 'update', key: '/t/held', value: bytes('1'), expected: held },
        { verb: 'delete', key: '/t/gone', expected: gone },
      ]);
      expect(revisions).toHaveLength(3);
      expect(await listed({ prefix: '/t/' })).toBe('/t/held=1 /t/new=1');
      expect((await store.get('/t/new'))?.revision).toBe(revisions[0]);
      expect((await store.get('/t/held'))?.revision).toBe(revisions[1]);
      await until(() => expect(watch.seen).toHaveLength(3));
      expect(watch.seen.map(({ revision }) => revision)).toEqual(revisions);
      expect(await store.revision()).toBe(revisions[2]);
      watch.close();
    });

    test('a transaction of which one write is refused changes nothing, and names the key', async () => {
      const held = await store.create('/t/held', bytes('0'));
      const before = await store.revision();
      const fresh = { verb: 'create', key: '/t/new', value: bytes('1') } as const;
      const refused = async (code: string, write: Parameters<Store['transact']>[0][number]) => {
        await expect(store.transact([fresh, write])).rejects.toMatchObject({ code, key: write.key });
      };
      await refused('EXISTS', { verb: 'create', key: '/t/held', value: bytes('1') });
      await refused('CONFLICT', { verb: 'update', key: '/t/held', value: bytes('1'), expected: held + 100 });
      await refused('MISSING', { verb: 'delete', key: '/t/none', expected: held });
      await refused('MISSING', { verb: 'update', key: '/t/none', value: bytes('1'), expected: 0 });
      expect(await listed({ prefix: '/t/' })).toBe('/t/held=0');
      expect(await store.revision()).toBe(before);
    });

    test('a check lets a transaction pass while its key is as expected, and is no change', async () => {
      const held = await store.create('/t/held', bytes('0'));
      const check = { verb: 'check', key: '/t/held', expected: held } as const;
      const fresh = (key: string) => ({ verb: 'create', key, value: bytes('1') }) as const;
      expect(await store.transact([fresh('/t/one'), check])).toEqual([await store.revision()]);
      expect((await store.get('/t/held'))?.revision).toBe(held);
      await store.update('/t/held', bytes('2'), held);
      const refused = { code: 'CONFLICT', key: '/t/held' };
      await expect(store.transact([fresh('/t/two'), check])).rejects.toMatchObject(refused);
      const missing = { ...check, key: '/t/none' };
      await expect(store.transact([fresh('/t/two'), missing])).rejects.toMatchObject({ code: 'MISSING' });
      expect(await listed({ prefix: '/t/' })).toBe('/t/held=2 /t/one=1');
    });

    test('of transactions that want one key exactly one is made', async () => {
      const tries = await Promise.allSettled(
        Array.from({ length: 30 }, (_, index) =>
          store.transact([
            { verb: 'create', key: `/own/${index}`, value: bytes('v') },
            { verb: 'create', key: '/claim', value: bytes(String(index)) },
          ]),
        ),
      );
      const won = tries.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
      expect(won).toHaveLength(1);
      expect(await listed({ prefix: '/own/' })).toBe(`/own/${won[0]}=v`);
      expect(await listed({ prefix: '/claim' })).toBe(`/claim=${won[0]}`);
    });

    test('lists a prefix in order of keys, and only that', async () => {
      for (const key of ['/b/2', '/a/1', '/b/1', '/b0', '/b/10', '/c']) await store.create(key, bytes('v'));
      expect(await listed({ prefix: '/b/' })).toBe('/b/1=v /b/10=v /b/2=v');
      expect(await listed({ prefix: '/none/' })).toBe('');
      expect((await store.list({ prefix: '/' })).revision).toBe(await store.revision());
    });

    test('pages tell how many keys remain', async () => {
      for (let i = 0; i < 7; i++) await store.create(`/p/${i}`, bytes('v'));
      await store.create('/q', bytes('v'));
      const first = await store.list({ prefix: '/p/', limit: 3 });
      expect([first.entries.length, first.remaining]).toEqual([3, 4]);
      const last = await store.list({ prefix: '/p/', limit: 4, after: '/p/2' });
      expect([last.entries.length, last.remaining]).toEqual([4, 0]);
    });

    test('a list at an older revision shows the keys as they were', async () => {
      const a = await store.create('/k/a', bytes('1'));
      await store.create('/k/b', bytes('1'));
      const c = await store.create('/k/c', bytes('1'));
      const d = await store.create('/k/d', bytes('1'));
      await store.update('/k/a', bytes('2'), a);
      await store.delete('/k/c', c);
      await store.create('/k/bb', bytes('1'));
      await store.create('/k/c', bytes('2'));
      await store.create('/k/e', bytes('1'));
      expect(await listed({ prefix: '/k/' })).toBe('/k/a=2 /k/b=1 /k/bb=1 /k/c=2 /k/d=1 /k/e=1');
      expect(await listed({ prefix: '/k/', revision: d })).toBe('/k/a=1 /k/b=1 /k/c=1 /k/d=1');
      expect(await listed({ prefix: '/k/', revision: c })).toBe('/k/a=1 /k/b=1 /k/c=1');
      const page = await store.list({ prefix: '/k/', revision: d, limit: 2, after: '/k/a' });
      expect(page.entries.map(({ key, revision }) => [key, revision])).toEqual([
        ['/k/b', a + 1],
        ['/k/c', c],
      ]);
      expect([page.remaining, page.revision]).toEqual([1, d]);
    });

    test('pages of one revision are one list, whatever is written in between', async () => {
      const wanted: string[] = [];
      for (let i = 100; i < 150; i++) {
        await store.create(`/k/${i}`, bytes('v'));
        wanted.push(`/k/${i}`);
      }
      const { revision } = await store.list({ prefix: '/k/', limit: 1 });
      const got: string[] = [];
      for (let after: string | undefined; ; ) {
        const page = await store.list({
          prefix: '/k/',
          limit: 7,
          revision,
          ...(after === undefined ? {} : { after }),
        });
        got.push(...page.entries.map(({ key }) => key));
        expect(page.remaining).toBe(50 - got.length);
        if (page.remaining === 0) break;
        after = got.at(-1);
        await store.create(`/k/${100 + got.length}x`, bytes('new'));
        const victim = await store.get(`/k/${149 - got.length / 7}`);
        if (victim !== undefined) await store.delete(victim.key, victim.revision);
      }
      expect(got).toEqual(wanted);
    });

    test('a watch tells of puts and deletes with what was there before', async () => {
      const start = await store.revision();
      const watch = await follow('/w/', start);
      const one = await store.create('/w/a', bytes('1'));
      await store.create('/other', bytes('x'));
      const two = await store.update('/w/a', bytes('2'), one);
      const three = await store.delete('/w/a', two);
      await until(() => expect(watch.seen).toHaveLength(3));
      expect(watch.words()).toEqual([`put /w/a=1@${one}`, `put /w/a=2@${two}`, `delete /w/a=2@${three}`]);
      expect(watch.seen.map(({ previous }) => previous?.revision)).toEqual([undefined, one, two]);
      expect(String(watch.seen[2]?.previous?.value)).toBe('2');
      watch.close();
      await store.create('/w/b', bytes('1'));
      expect(watch.seen).toHaveLength(3);
    });

    test('a watch from the past is given what it missed, then what comes', async () => {
      const start = await store.revision();
      const one = await store.create('/w/a', bytes('1'));
      const two = await store.update('/w/a', bytes('2'), one);
      const watch = await follow('/w/', one);
      const all = await follow('/w/', start);
      const three = await store.delete('/w/a', two);
      await until(() => expect(all.seen).toHaveLength(3));
      expect(watch.words()).toEqual([`put /w/a=2@${two}`, `delete /w/a=2@${three}`]);
      expect(all.words()[0]).toBe(`put /w/a=1@${one}`);
    });

    test('watchers that come at any moment of a storm see every change once and in order', async () => {
      const start = await store.revision();
      const watches: { watch: Awaited<ReturnType<typeof follow>>; after: number }[] = [];
      await Promise.all(
        Array.from({ length: 20 }, async (_, writer) => {
          let revision = await store.create(`/s/${writer}`, bytes('0'));
          for (let i = 0; i < 20; i++) {
            revision = await store.update(`/s/${writer}`, bytes(String(i)), revision);
            if (i % 5 !== 0) continue;
            const after = i % 2 === 0 ? revision : start;
            watches.push({ watch: await follow('/s/', after), after });
          }
        }),
      );
      const newest = await store.revision();
      await until(() => {
        for (const { watch } of watches) expect(watch.seen.at(-1)?.revision).toBe(newest);
      });
      for (const { watch, after } of watches) {
        const revisions = watch.seen.map(({ revision }) => revision);
        expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
        expect(revisions).toHaveLength(newest - after);
      }
    });

    test('a watcher that throws is ended; others go on', async () => {
      const after = await store.revision();
      const errors: Error[] = [];
      const onEvents = () => {
        throw new Error('broken watcher');
      };
      await store.watch({ prefix: '/', after, onEvents, onError: (error) => void errors.push(error) });
      const good = await follow('/', after);
      await store.create('/a', bytes('1'));
      await store.create('/b', bytes('1'));
      await until(() => expect(good.seen).toHaveLength(2));
      expect(errors).toHaveLength(1);
    });

    test('the future cannot be watched or listed', async () => {
      const later = (await store.revision()) + 1;
      const silent = { onEvents: () => {}, onError: () => {} };
      await expect(store.watch({ prefix: '/', after: later, ...silent })).rejects.toMatchObject({
        code: 'FUTURE',
      });
      await expect(store.list({ prefix: '/', revision: later })).rejects.toMatchObject({ code: 'FUTURE' });
      await expect(store.compact(later)).rejects.toMatchObject({ code: 'FUTURE' });
    });

    test('compaction forgets the past and keeps the present', async () => {
      const one = await store.create('/a', bytes('1'));
      const two = await store.update('/a', bytes('2'), one);
      const three = await store.create('/b', bytes('1'));
      await store.compact(two);
      await store.compact(one);
      expect(await listed({ prefix: '/' })).toBe('/a=2 /b=1');
      expect(await listed({ prefix: '/', revision: two })).toBe('/a=2');
      const silent = { onEvents: () => {}, onError: () => {} };
      await expect(store.list({ prefix: '/', revision: one })).rejects.toMatchObject({ code: 'COMPACTED' });
      await expect(store.watch({ prefix: '/', after: one, ...silent })).rejects.toMatchObject({
        code: 'COMPACTED',
      });
      const watch = await follow('/', two);
      await until(() => expect(watch.words()).toEqual([`put /b=1@${three}`]));
      await store.compact(three);
      expect(await store.revision()).toBe(three);
    });

    test('closing ends the watches and refuses everything after', async () => {
      const watch = await follow('/', await store.revision());
      await store.close();
      await store.close();
      expect(watch.errors).toMatchObject([{ code: 'CLOSED' }]);
      await expect(store.get('/a')).rejects.toMatchObject({ code: 'CLOSED' });
      await expect(store.create('/a', bytes('1'))).rejects.toMatchObject({ code: 'CLOSED' });
    });
  });
}
