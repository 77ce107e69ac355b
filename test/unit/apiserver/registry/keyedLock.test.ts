// Turns by key: the order, and what is left behind.
import { expect, test } from 'vitest';
import { KeyedLock } from '../../../../src/apiserver/registry/keyedLock.js';

test('work on one key goes in the order of asking, also after a failure; other keys do not wait', async () => {
  const turns = new KeyedLock();
  const done: string[] = [];
  const work = (name: string, milliseconds: number) => async () => {
    done.push(`${name} starts`);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    done.push(`${name} ends`);
    return name;
  };
  const failing = turns.run('a', async () => {
    await work('first', 3)();
    throw new Error('refused');
  });
  const all = await Promise.allSettled([
    failing,
    turns.run('a', work('second', 0)),
    turns.run('b', work('other', 0)),
  ]);
  expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(done.indexOf('second starts')).toBeGreaterThan(done.indexOf('first ends'));
  expect(done.indexOf('other starts')).toBeLessThan(done.indexOf('first ends'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(turns.size).toBe(0);
});
