// Snapshots between LMDB and a real etcd, there and back.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { layoutOf } from '../../../src/cluster/layout.js';
import { defaultSettings, saveSettings, settle } from '../../../src/cluster/settings.js';
import { openEtcdStore } from '../../../src/store/etcd/store.js';
import { openLmdbStore } from '../../../src/store/lmdb/store.js';
import { startEtcd, type TestEtcd } from '../../support/etcd.js';
import { describeWith } from '../../support/requires.js';
import { storeFolder } from '../../support/storeFolder.js';
import { trellis } from '../../support/trellisCommand.js';

describeWith({ tools: ['etcd'] }, 'a snapshot', () => {
  let etcd: TestEtcd;
  let folder: string;
  let remove: () => Promise<void>;
  beforeEach(async () => {
    etcd = await startEtcd();
    ({ folder, remove } = await storeFolder());
  });
  afterEach(async () => {
    await etcd.stop();
    await remove();
  });

  test('moves everything from LMDB to etcd and back', async () => {
    const [one, two, first, second] = ['one', 'two', 'first', 'second'].map((name) =>
      path.join(folder, name),
    );
    const store = await openLmdbStore({ path: path.join(one as string, 'store') });
    await Promise.all(
      Array.from({ length: 1_234 }, (_, i) => store.create(`/registry/k${i}`, Buffer.alloc(3_000, i))),
    );
    const { entries } = await store.list({ prefix: '' });
    await store.close();
    const content = (list: typeof entries) => list.map(({ key, value }) => [key, value.toString('base64')]);

    const run = async (...args: (string | undefined)[]) => {
      const { err, code } = await trellis(['snapshot', ...args.map(String)]);
      // On a slow machine it tells how far it is.
      expect([err.replaceAll(/^\d+ of \d+ keys \(\d+%\)\n/gm, ''), code]).toEqual(['', 0]);
    };
    await run('save', first, '--data-dir', one);
    await run('restore', first, '--etcd-servers', etcd.endpoint);
    const there = await openEtcdStore({ endpoints: [etcd.endpoint] });
    expect(content((await there.list({ prefix: '' })).entries as typeof entries)).toEqual(content(entries));
    await there.create('/registry/of-etcd', Buffer.from('x'));
    await there.close();
    const again = await trellis(['snapshot', 'restore', String(first), '--etcd-servers', etcd.endpoint]);
    expect(again.err).toContain('etcd holds 1235 keys already; --force replaces them');

    await run('save', second, '--etcd-servers', etcd.endpoint);
    await run('restore', second, '--data-dir', two);
    const back = await openLmdbStore({ path: path.join(two as string, 'store') });
    const final = (await back.list({ prefix: '' })).entries.filter(({ key }) => key !== '/registry/of-etcd');
    expect(content(final)).toEqual(content(entries));
    await back.close();
    await run('restore', first, '--etcd-servers', etcd.endpoint, '--force');
  });

  test('of a cluster is that of the store it was made with', async () => {
    const [dir, file] = [path.join(folder, 'cluster'), path.join(folder, 'file')];
    await mkdir(dir);
    await saveSettings(
      layoutOf(dir),
      await settle(layoutOf(dir), { etcdServers: etcd.endpoint }, defaultSettings('node1')),
    );
    const there = await openEtcdStore({ endpoints: [etcd.endpoint] });
    await there.create('/registry/in-etcd', Buffer.from('x'));
    const saved = await trellis(['snapshot', 'save', file, '--data-dir', dir]);
    expect([saved.err, saved.code]).toEqual(['', 0]);
    expect(saved.out).toMatch(/keys +1\n/);
    await there.close();
    // Empty is said, not left out: the cluster moves back to LMDB.
    const moved = await trellis(['snapshot', 'restore', file, '--data-dir', dir, '--etcd-servers', '']);
    expect([moved.err, moved.code]).toEqual(['', 0]);
    const back = await openLmdbStore({ path: path.join(dir, 'store') });
    expect(await back.get('/registry/in-etcd')).toBeDefined();
    await back.close();
  });
});
