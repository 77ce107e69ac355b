// One store, two network namespaces, as in two containers that share a volume: the second process is refused.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openLmdbStore } from '../../../src/store/lmdb/store.js';
import { storeFolder } from '../../support/storeFolder.js';

const run = promisify(execFile);

test('a store in use is refused to a process of another network namespace', async () => {
  const { folder, remove } = await storeFolder();
  const store = await openLmdbStore({ path: folder });
  try {
    const child = [process.execPath, path.resolve('test/support/storeChild.mjs'), 'open', folder];
    const { stdout } = await run('unshare', ['--net', ...child]);
    expect(stdout).toContain(`LOCKED the store in ${folder} is in use by process ${process.pid}`);
    await store.create('/a', Buffer.of(1));
  } finally {
    await store.close();
    await remove();
  }
});
