// Telling the past: one reading for all that wait.
import { describe, expect, test } from 'vitest';
import { CatchUp, commonPrefix, type PastWish } from '../../../src/store/catchUp.js';
import type { StoreEvent } from '../../../src/store/store.js';

const event = (revision: number): StoreEvent => ({ type: 'put', key: '/k', revision, value: Buffer.of(1) });
const collect = async (past: AsyncIterable<readonly StoreEvent[]>) => {
  const revisions: number[] = [];
  for await (const events of past) revisions.push(...events.map(({ revision }) => revision));
  return revisions;
};

describe('catching up', () => {
  test('all that wait share a reading from the earliest wish, and who comes later gets the next', async () => {
    const wishes: PastWish[] = [];
    const catchUp = new CatchUp(async function* (wish) {
      wishes.push(wish);
      for (let revision = wish.after + 1; revision <= 6; revision++) yield [event(revision)];
    });
    const first = Array.from({ length: 100 }, (_, i) =>
      collect(catchUp.join({ after: 2 + (i % 3), prefix: `/a/${i % 2}` })),
    );
    await first[0];
    const late = collect(catchUp.join({ after: 5, prefix: '/b' }));
    expect((await Promise.all(first)).every((revisions) => revisions.join() === '3,4,5,6')).toBe(true);
    expect(await late).toEqual([6]);
    expect(wishes).toEqual([
      { after: 2, prefix: '/a/' },
      { after: 5, prefix: '/b' },
    ]);
  });

  test('a reading that fails is told to its members, and the next one goes on', async () => {
    let isBroken = true;
    const catchUp = new CatchUp(async function* () {
      yield [event(1)];
      if (isBroken) throw new Error('broken');
    });
    await expect(collect(catchUp.join({ after: 0, prefix: '' }))).rejects.toThrow('broken');
    isBroken = false;
    expect(await collect(catchUp.join({ after: 0, prefix: '' }))).toEqual([1]);
  });

  test.each([
    ['/a/b', '/a/c', '/a/'],
    ['/a', '/a/b', '/a'],
    ['', '/a', ''],
    ['/x', 'y', ''],
  ])('the common prefix of %j and %j is %j', (one, other, wanted) => {
    expect(commonPrefix(one, other)).toBe(wanted);
  });
});
