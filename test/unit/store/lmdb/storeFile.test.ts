// The store's file: what survives a restart, what is refused and left alone, how it stays bounded.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openLmdbStore } from '../../../../src/store/lmdb/store.js';
import type { Store, StoreEvent } from '../../../../src/store/store.js';
import { storeFolder } from '../../../support/storeFolder.js';
import { until } from '../../../support/until.js';

const bytes = (text: string) => Buffer.from(text);

describe('the file of an LMDB store', () => {
  let folder: string;
  let file: string;
  let remove: () => Promise<void>;
  const opened: Store[] = [];
  const reopen = async (options: Partial<Parameters<typeof openLmdbStore>[0]> = {}) => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
    const store = await openLmdbStore({ path: folder, ...options });
    opened.push(store);
    return store;
  };
  const follow = async (store: Store, after: number) => {
    const seen: StoreEvent[] = [];
    const onEvents = (events: readonly StoreEvent[]) => void seen.push(...events);
    const onError = () => {};
    await store.watch({ prefix: '/', after, onEvents, onError });
    return seen;
  };

  beforeEach(async () => {
    ({ folder, remove } = await storeFolder());
    file = path.join(folder, 'store.mdb');
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
    await remove();
  });

  test('values, history and revisions go on after a restart', async () => {
    const store = await reopen();
    const one = await store.create('/a', bytes('1'));
    const two = await store.update('/a', bytes('2'), one);
    const three = await store.delete('/a', two);
    const again = await reopen();
    expect(await again.revision()).toBe(three);
    expect(await again.create('/b', bytes('1'))).toBe(three + 1);
    const seen = await follow(again, 0);
    await until(() => expect(seen).toHaveLength(4));
    expect(seen.map(({ type, value, previous }) => `${type} ${value} ${previous?.value}`)).toEqual([
      'put 1 undefined',
      'put 2 1',
      'delete 2 2',
      'put 1 undefined',
    ]);
    expect((await again.list({ prefix: '/', revision: two })).entries).toMatchObject([
      { key: '/a', revision: two },
    ]);
  });

  test('compaction and the newest revision are remembered, also when all history is forgotten', async () => {
    const store = await reopen();
    const one = await store.create('/a', bytes('1'));
    const two = await store.delete('/a', one);
    await store.compact(two);
    const again = await reopen();
    expect(await again.revision()).toBe(two);
    await expect(follow(again, one)).rejects.toMatchObject({ code: 'COMPACTED' });
    expect(await again.create('/a', bytes('1'))).toBe(two + 1);
  });

  test('one large value written over and over leaves a file bounded in bytes, and the newest history', {
    timeout: 60_000,
  }, async () => {
    const limit = 8 * 1024 * 1024;
    const store = await reopen({ historyBytes: limit });
    const value = Buffer.alloc(950_000, 'x');
    let revision = await store.create('/large', value);
    for (let i = 0; i < 200; i++) revision = await store.update('/large', value, revision);
    // Trimming runs behind the writes; what it takes of the file is used again.
    expect((await stat(file)).size).toBeLessThan(4 * limit);
    const seen = await follow(store, revision - 2);
    await until(() => expect(seen).toHaveLength(2));
    await until(() => expect(follow(store, 1)).rejects.toMatchObject({ code: 'COMPACTED' }));
    // What history takes is read from the file, so the bound holds after a restart as well.
    const again = await reopen({ historyBytes: limit, trimEveryMs: 10 });
    await until(() => expect(again.list({ prefix: '/', revision: revision - 10 })).rejects.toThrow());
    expect((await again.list({ prefix: '/', revision: revision - 3 })).entries).toHaveLength(1);
  });

  test('a watch far behind reads thousands of changes from the file while others write and compact', async () => {
    const store = await reopen();
    await Promise.all(Array.from({ length: 3000 }, (_, i) => store.create(`/k${i}`, bytes(`${i}`))));
    const again = await reopen();
    const seen = await follow(again, 0);
    const storm = Promise.all(
      Array.from({ length: 500 }, (_, i) => again.update(`/k${i}`, bytes('new'), i + 1)),
    );
    await again.compact(3000);
    await storm;
    await until(() => expect(seen).toHaveLength(3500));
    expect(seen.map(({ revision }) => revision)).toEqual(Array.from({ length: 3500 }, (_, i) => i + 1));
    expect(String(seen[0]?.value)).toBe('0');
    expect(String(seen[3000]?.previous?.value)).toMatch(/^\d+$/);
  });

  test('a store closed while a watch reads the past closes cleanly', async () => {
    const store = await reopen();
    await Promise.all(Array.from({ length: 3000 }, (_, i) => store.create(`/k${i}`, bytes(`${i}`))));
    const again = await reopen();
    const seen = await follow(again, 0);
    await again.close();
    expect(seen.length).toBeLessThan(3000);
  });

  test('history beyond the number or the age is forgotten by itself', async () => {
    let now = 1000;
    const store = await reopen({ historyEvents: 100, historyMs: 1000, now: () => now, trimEveryMs: 50 });
    for (let i = 0; i < 3; i++) {
      await Promise.all(Array.from({ length: 1000 }, (_, n) => store.create(`/${i}-${n}`, bytes('v'))));
    }
    await until(() => expect(follow(store, 1500)).rejects.toMatchObject({ code: 'COMPACTED' }));
    await store.compact(2950);
    now += 5000;
    const young = await store.create('/young', bytes('v'));
    const aged = () => expect(follow(store, young - 2)).rejects.toMatchObject({ code: 'COMPACTED' });
    await until(aged);
    expect(await follow(store, young - 1)).toBeDefined();
  });

  test('the file stays bounded under churn', { timeout: 60_000 }, async () => {
    const store = await reopen({ historyEvents: 200 });
    let revision = await store.create('/a', Buffer.alloc(4000));
    const churn = async (rounds: number) => {
      for (let i = 0; i < rounds; i++) {
        const others = Array.from({ length: 50 }, (_, n) =>
          store.create(`/${revision}-${n}`, Buffer.alloc(4000)),
        );
        const made = await Promise.all(others);
        await Promise.all(made.map((at, n) => store.delete(`/${revision}-${n}`, at)));
        revision = await store.update('/a', Buffer.alloc(4000), revision);
      }
    };
    await churn(40);
    const { size } = await stat(file);
    await churn(120);
    expect((await stat(file)).size).toBeLessThan(size * 1.5);
  });

  test('folder and files are for their owner alone', async () => {
    await reopen();
    const modes = await Promise.all(
      [folder, file, `${file}-lock`, path.join(folder, 'owner')].map((name) => stat(name)),
    );
    expect(modes.map(({ mode }) => (mode & 0o777).toString(8))).toEqual(['700', '600', '600', '600']);
  });

  test('a foreign process on the machine cannot keep the store from opening', async () => {
    const { dev, ino } = await stat(folder);
    // What once was the lock: a name that anybody may take.
    const squatter = createServer().listen(`\0trellis-store-${dev}-${ino}`);
    await once(squatter, 'listening');
    try {
      await reopen();
    } finally {
      squatter.close();
    }
  });

  test('a reader that was killed does not make the file grow', async () => {
    const store = await reopen({ historyEvents: 100, trimEveryMs: 20 });
    const keys = Array.from({ length: 16 }, (_, i) => `/k${i}`);
    let revisions = await Promise.all(keys.map((key) => store.create(key, Buffer.alloc(4000))));
    const churn = async () => {
      for (let round = 0; round < 60; round++)
        revisions = await Promise.all(
          keys.map((key, i) => store.update(key, Buffer.alloc(4000, round), revisions[i] ?? 0)),
        );
      return (await stat(file)).size;
    };
    const before = await churn();
    const child = fork(path.resolve('test/support/storeChild.mjs'), ['read', folder], { silent: true });
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    // What is trimmed later on a busy machine is room for some rounds; a reader that stayed would cost all of them, 7 MB.
    expect(await churn()).toBeLessThan(before + 3_500_000);
  });

  test('a second opening is refused, in this process and from another', async () => {
    await reopen();
    await expect(openLmdbStore({ path: folder })).rejects.toMatchObject({ code: 'LOCKED' });
    const child = fork(path.resolve('test/support/storeChild.mjs'), ['open', folder], { silent: true });
    const [output] = await Promise.all([
      new Promise<string>((resolve) => {
        let text = '';
        child.stdout?.on('data', (data) => {
          text += data;
        });
        child.on('close', () => resolve(text));
      }),
    ]);
    expect(output).toContain(`LOCKED the store in ${folder} is in use by process ${process.pid}`);
  });

  test('a store of a newer schema is refused and left as it was', async () => {
    await reopen();
    await opened.pop()?.close();
    const root = open<Buffer, Buffer>({
      path: file,
      noSubdir: true,
      encoding: 'binary',
      keyEncoding: 'binary',
      overlappingSync: false,
    });
    root.putSync(Buffer.from('trellis.schema'), Buffer.of(0, 0, 0, 0, 0, 0, 0, 2));
    await root.close();
    const before = await readFile(file);
    const refusal = await reopen().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'NEWER_SCHEMA' });
    expect(String(refusal)).toContain('has schema 2, and this program knows 1');
    expect((await readFile(file)).equals(before)).toBe(true);
  });

  test.each([
    ['text', async () => writeFile(file, 'this is no database\n'.repeat(1000))],
    ['its first page only', async () => truncate(file, 4096)],
    ['half of itself', async () => truncate(file, Math.floor((await stat(file)).size / 2))],
  ])('a file that holds %s is refused as damaged and left as it was', async (_what, spoil) => {
    const store = await reopen();
    await Promise.all(Array.from({ length: 500 }, (_, i) => store.create(`/k${i}`, Buffer.alloc(2000))));
    await opened.pop()?.close();
    await spoil();
    const before = await readFile(file);
    await expect(reopen()).rejects.toMatchObject({ code: 'DAMAGED' });
    expect((await readFile(file)).equals(before)).toBe(true);
  });

  test('an empty file, left by a start that was killed, is a new store', async () => {
    await writeFile(file, '');
    expect(await (await reopen()).create('/a', bytes('1'))).toBe(1);
  });

  test("another program's LMDB file is refused", async () => {
    const root = open({ path: file, noSubdir: true });
    await root.put('some', 'thing');
    await root.close();
    await expect(reopen()).rejects.toMatchObject({ code: 'DAMAGED' });
  });

  test('a folder that cannot be made is said so', async () => {
    await writeFile(path.join(folder, 'plain'), '');
    await expect(openLmdbStore({ path: path.join(folder, 'plain', 'x') })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });
});
