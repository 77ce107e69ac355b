// A disk that fills up: writes are refused but for deletions, nothing is half there, and writing goes on when there is room
// again.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWith } from '../../support/requires.js';
import { storeFolder } from '../../support/storeFolder.js';

interface Filled {
  readonly made: readonly number[];
  readonly refused: readonly string[];
  readonly kept: number;
  readonly revision: number;
  readonly next: number;
  /** Of five. */
  readonly deleted: number;
  /** What a write that is no deletion meets meanwhile. */
  readonly full: string;
}

describeWith({ root: true, tools: ['unshare', 'mount'] }, 'a store on a full disk', () => {
  let folder: string;
  let remove: () => Promise<void>;
  beforeEach(async () => {
    ({ folder, remove } = await storeFolder());
  });
  afterEach(() => remove());

  test('refuses whole batches, keeps what it acknowledged, and goes on when there is room', () => {
    // The small disk is of the namespace alone, and goes with it.
    const script = 'mount -t tmpfs -o size=8m small "$1" && exec "$0" "$2" fill "$1"';
    const child = path.resolve('test/support/storeChild.mjs');
    const run = spawnSync('unshare', ['--mount', 'sh', '-c', script, process.execPath, folder, child], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect([run.status, run.signal, run.stdout]).toEqual([0, null, expect.stringMatching(/^{/)]);
    const { made, refused, kept, revision, next, deleted, full } = JSON.parse(run.stdout) as Filled;
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(refused)).toEqual(new Set(['UNAVAILABLE']));
    expect(refused).toHaveLength(20);
    expect([kept, revision]).toEqual([made.length, made.length]);
    expect([deleted, full, next]).toEqual([5, 'UNAVAILABLE', made.length + 6]);
  });
});
