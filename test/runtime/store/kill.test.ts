// kill -9 in a storm of writes: what was acknowledged is there, whole; revisions never go back.
import { fork } from 'node:child_process';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openLmdbStore } from '../../../src/store/lmdb/store.js';
import { storeFolder } from '../../support/storeFolder.js';

/** More of them: TRELLIS_KILL_ROUNDS=50 npx vitest run --project runtime test/runtime/store/kill.test.ts */
const ROUNDS = Number(process.env['TRELLIS_KILL_ROUNDS'] ?? 6);

interface Acknowledged {
  readonly revision: number;
  readonly word: string;
}

/** Lets a process write until it has acknowledged so many writes, kills it, and answers the last word on each key. */
async function storm(folder: string, round: number, enough: number): Promise<Map<string, Acknowledged>> {
  const child = fork(path.resolve('test/support/storeChild.mjs'), ['storm', folder, String(round)], {
    silent: true,
  });
  let text = '';
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (data) => {
      text += data;
      if (text.split('\n').length > enough) child.kill('SIGKILL');
    });
    child.on('close', () => resolve());
  });
  const acknowledged = new Map<string, Acknowledged>();
  // The last line may have been cut by the kill.
  for (const line of text.split('\n').slice(0, -1)) {
    const [ack, key = '', revision, word = ''] = line.split(' ');
    expect(ack).toBe('ack');
    acknowledged.set(key, { revision: Number(revision), word });
  }
  return acknowledged;
}

describe('a store whose process is killed', () => {
  let folder: string;
  let remove: () => Promise<void>;
  beforeEach(async () => {
    ({ folder, remove } = await storeFolder());
  });
  afterEach(() => remove());

  test(
    'has every acknowledged write after the restart, each whole, and goes on from there',
    async () => {
      let highest = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const acknowledged = await storm(folder, round, 300 + (round % 8) * 177);
        expect(acknowledged.size).toBeGreaterThan(100);
        const store = await openLmdbStore({ path: folder });
        const newest = await store.revision();
        const { entries } = await store.list({ prefix: `/storm/${round}/` });
        const found = new Map(entries.map((entry) => [entry.key, entry]));
        for (const [key, { revision, word }] of acknowledged) {
          highest = Math.max(highest, revision);
          const entry = found.get(key);
          // A later write of this key may have been made without its answer getting out: every fifth key is deleted.
          const mayBeGone = word === 'gone' || Number(key.split('/').at(-1)) % 5 === 0;
          if (entry === undefined) expect([key, mayBeGone]).toEqual([key, true]);
          else expect(entry.revision).toBeGreaterThanOrEqual(revision);
        }
        for (const { value } of entries) {
          const text = String(value);
          expect(text === 'first '.repeat(200) || text === 'second '.repeat(200)).toBe(true);
        }
        expect(newest).toBeGreaterThanOrEqual(highest);
        highest = await store.create(`/after/${round}`, Buffer.from('x'));
        expect(highest).toBe(newest + 1);
        await store.close();
      }
    },
    20_000 + ROUNDS * 10_000,
  );
});
