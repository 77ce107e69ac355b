// Pages of a mapped file given back: seen in the kernel's own account of this process.
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { releaseMappedPages } from '../../../src/kernel/mappedFile.js';
import { openLmdbStore } from '../../../src/store/lmdb/store.js';
import type { Store } from '../../../src/store/store.js';
import { until } from '../../support/until.js';

const COUNT = 200;
const value = (i: number) => Buffer.alloc(8_000, i % 256);
let folder: string;
let store: Store;

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'trellis-pages-')));
  store = await openLmdbStore({ path: folder });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Kilobytes of the file that are resident in this process. */
function residentKb(file: string): number {
  const areas = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const mine = areas.filter((area) => area.split('\n')[0]?.endsWith(file) === true);
  return mine.reduce((sum, area) => sum + Number(/^Rss:\s+(\d+)/m.exec(area)?.[1] ?? 0), 0);
}

test('what was read is resident until it is released, and reads the same afterwards', async () => {
  const file = path.join(folder, 'store.mdb');
  await Promise.all(Array.from({ length: COUNT }, (_, i) => store.create(`/k/${i}`, value(i))));
  const readAll = async () => {
    for (const { key, value: read } of (await store.list({ prefix: '/k/' })).entries)
      expect(read.equals(value(Number(key.slice(3))))).toBe(true);
  };
  await readAll();
  expect(residentKb(file)).toBeGreaterThan(COUNT * 4);
  expect(releaseMappedPages(file)).toBeGreaterThan(COUNT * 8_000);
  expect(residentKb(file)).toBeLessThan(1_000);
  await readAll();
  await store.create('/k/more', value(1));
});

test('a store that is read over and over keeps little of its file resident', async () => {
  await Promise.all(
    Array.from({ length: COUNT }, (_, i) => store.create(`/k/${i}`, Buffer.alloc(500_000, i % 256))),
  );
  for (let after = '', more = true; more; ) {
    const page = await store.list({ prefix: '/k/', limit: 50, ...(after === '' ? {} : { after }) });
    after = page.entries.at(-1)?.key ?? '';
    more = page.remaining > 0;
  }
  // A hundred megabytes were read.
  expect(residentKb(path.join(folder, 'store.mdb'))).toBeLessThan(60_000);
});

test('the first page of a long list, which tells how many follow, leaves little of the file resident', async () => {
  const objects = 20_000;
  for (let made = 0; made < objects; made += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, i) => store.create(`/k/${made + i}`, Buffer.alloc(2_400, 'x'))),
    );
  await store.close();
  store = await openLmdbStore({ path: folder });
  expect((await store.list({ prefix: '/k/', limit: 1 })).remaining).toBe(objects - 1);
  // The file has fifty megabytes, and counting walks through all of it.
  expect(residentKb(path.join(folder, 'store.mdb'))).toBeLessThan(10_000);
});

test('a store that nobody reads any more keeps next to nothing of its file resident', async () => {
  await store.close();
  store = await openLmdbStore({ path: folder, trimEveryMs: 50 });
  const file = path.join(folder, 'store.mdb');
  await Promise.all(Array.from({ length: COUNT }, (_, i) => store.create(`/k/${i}`, value(i))));
  // Eight kilobytes each, far below what reading may keep resident.
  await until(async () => {
    expect((await store.list({ prefix: '/k/' })).entries).toHaveLength(COUNT);
    expect(residentKb(file)).toBeGreaterThan(COUNT * 4);
  });
  await until(() => expect(residentKb(file)).toBeLessThan(500));
});

test('a file that nobody maps has nothing to release', () => {
  expect(releaseMappedPages('/proc/self/exe')).toBe(0);
});
