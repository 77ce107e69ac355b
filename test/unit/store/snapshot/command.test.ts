// `trellis snapshot` on LMDB: a store out to a file and back, and everything that is refused.
import { mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { progressLine } from '../../../../src/cli/progressLine.js';
import { openLmdbStore } from '../../../../src/store/lmdb/store.js';
import { storeFolder } from '../../../support/storeFolder.js';
import { trellis } from '../../../support/trellisCommand.js';

/** Between the newest revision that was given out before a restore and the first after it. */
const MARGIN = 1_000_000_000;

describe('trellis snapshot', () => {
  let folder: string;
  let remove: () => Promise<void>;
  let file: string;
  beforeEach(async () => {
    ({ folder, remove } = await storeFolder());
    file = path.join(folder, 'snap');
  });
  afterEach(() => remove());

  const dataDir = (name: string) => {
    mkdirSync(path.join(folder, name), { recursive: true });
    return path.join(folder, name);
  };
  const openIn = (name: string) => openLmdbStore({ path: path.join(dataDir(name), 'store') });
  const filled = async (name: string, keys = 3) => {
    const store = await openIn(name);
    for (let i = 0; i < keys; i++) await store.create(`/registry/k${i}`, Buffer.from(`value ${i}`));
    const gone = await store.create('/registry/gone', Buffer.from('x'));
    await store.delete('/registry/gone', gone);
    return store;
  };

  test('saves while the store is in use, restores elsewhere with the same revisions of keys, and goes on far beyond them', async () => {
    const running = await filled('one');
    const saved = await trellis(['snapshot', 'save', file, '--data-dir', dataDir('one')]);
    expect([saved.err, saved.code]).toEqual(['', 0]);
    expect(saved.out).toContain('revision 5');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const status = await trellis(['snapshot', 'status', file]);
    expect(status.out).toMatch(
      /revision 5\n {2}keys {5}3\n {2}size {5}\d+ bytes\n {2}sha256 {3}[0-9a-f]{64}\n/,
    );

    const restored = await trellis(['snapshot', 'restore', file, '--data-dir', dataDir('two')]);
    expect([restored.err, restored.code]).toEqual(['', 0]);
    const copy = await openIn('two');
    expect((await copy.list({ prefix: '' })).entries).toEqual((await running.list({ prefix: '' })).entries);
    expect(await copy.revision()).toBe(MARGIN + 5);
    const silent = { onEvents: () => {}, onError: () => {} };
    await expect(copy.watch({ prefix: '', after: 7, ...silent })).rejects.toMatchObject({
      code: 'COMPACTED',
    });
    await (await copy.watch({ prefix: '', after: MARGIN + 5, ...silent })).close();
    expect(await copy.create('/registry/new', Buffer.from('x'))).toBe(MARGIN + 6);
    await copy.close();
    await running.close();
    expect(readdirSync(dataDir('two'))).toEqual(['store']);
  });

  test('a store that holds something is replaced only by force, and a watch from before is told to look again', async () => {
    await (await filled('one', 1)).close();
    await (await filled('two', 10)).close();
    await trellis(['snapshot', 'save', file, '--data-dir', dataDir('one')]);
    const refused = await trellis(['snapshot', 'restore', file, '--data-dir', dataDir('two')]);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/^trellis: the store in .* holds 10 keys already; --force replaces them\n$/);
    const forced = await trellis(['snapshot', 'restore', file, '--data-dir', dataDir('two'), '--force']);
    expect(forced.out).toContain(`the store is at revision ${MARGIN + 12}`);
    const store = await openIn('two');
    expect((await store.list({ prefix: '' })).entries.map(({ key }) => key)).toEqual(['/registry/k0']);
    expect(await store.revision()).toBe(MARGIN + 12);
    const silent = { onEvents: () => {}, onError: () => {} };
    for (const after of [4, 12])
      await expect(store.watch({ prefix: '', after, ...silent })).rejects.toMatchObject({
        code: 'COMPACTED',
      });
    await store.close();
  });

  test('a store in use is not restored over', async () => {
    const store = await filled('one');
    await trellis(['snapshot', 'save', file, '--data-dir', dataDir('one')]);
    const { code, err } = await trellis([
      'snapshot',
      'restore',
      file,
      '--data-dir',
      dataDir('one'),
      '--force',
    ]);
    expect(code).toBe(1);
    expect(err).toMatch(/in use/);
    expect((await store.list({ prefix: '' })).entries).toHaveLength(3);
    await store.close();
  });

  test('damaged, absent and existing files are refused with the reason, and nothing is touched', async () => {
    await (await filled('one')).close();
    const save = () => trellis(['snapshot', 'save', file, '--data-dir', dataDir('one')]);
    await save();
    expect((await save()).err).toContain('exists already; --force replaces it');
    truncateSync(file, statSync(file).size - 5);
    const restore = (name: string) => trellis(['snapshot', 'restore', name, '--data-dir', dataDir('two')]);
    expect((await restore(file)).err).toBe('trellis: the snapshot cannot be used: it is cut off\n');
    writeFileSync(file, 'hello');
    expect((await restore(file)).err).toContain('it is no snapshot of Trellis');
    expect((await restore(`${file}.none`)).err).toContain('there is no such file');
    expect((await trellis(['snapshot', 'status', file])).code).toBe(1);
    expect(readdirSync(dataDir('two'))).toEqual([]);
    const nothing = await trellis(['snapshot', 'save', `${file}2`, '--data-dir', dataDir('three')]);
    expect([nothing.code, nothing.err]).toEqual([1, expect.stringContaining('there is no store in')]);
  });

  test('etcd that is not there is named', async () => {
    await (await filled('one')).close();
    const away = await trellis(['snapshot', 'save', file, '--etcd-servers', '127.0.0.1:1']);
    expect([away.code, away.err]).toEqual([
      1,
      expect.stringContaining('is not of the form https://host:2379'),
    ]);
    const args = ['--etcd-servers', 'https://127.0.0.1:1', '--etcd-cafile', path.join(folder, 'none')];
    expect((await trellis(['snapshot', 'save', file, ...args])).err).toContain('cannot read');
  });
});

test('progress is told after a second, then now and then', () => {
  let time = 0;
  let said = '';
  const writeError = (text: string) => {
    said += text;
  };
  const terminal = { live: false, writeError };
  const progress = progressLine(terminal, 'keys', () => time);
  for (; time <= 12_000; time += 250) progress(time / 100, 1_000);
  expect(said).toBe('10 of 1000 keys (1%)\n60 of 1000 keys (6%)\n110 of 1000 keys (11%)\n');
});
