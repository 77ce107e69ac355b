// Room for bodies: who waits, who goes on, and that all of it comes back.
import { describe, expect, test } from 'vitest';
import { BodyRoom } from '../../../../src/apiserver/load/bodyRoom.js';

const { signal } = new AbortController();
const isWaiting = async (promise: Promise<unknown>) =>
  (await Promise.race([
    promise.then(() => false),
    new Promise((resolve) => setImmediate(() => resolve(true))),
  ])) === true;

describe('room for bodies', () => {
  test('is limited for each user, and another user is not kept waiting', async () => {
    const room = new BodyRoom({ userBytes: 10, allBytes: 100 });
    const release = await room.take('a', 8, signal);
    const second = room.take('a', 8, signal);
    expect(await isWaiting(second)).toBe(true);
    await room.take('b', 8, signal);
    expect(room.taken).toBe(16);
    release();
    release();
    await second;
    expect(room.taken).toBe(16);
  });
  test('is limited in all', async () => {
    const room = new BodyRoom({ userBytes: 10, allBytes: 12 });
    const release = await room.take('a', 8, signal);
    const other = room.take('b', 8, signal);
    expect(await isWaiting(other)).toBe(true);
    release();
    await other;
  });
  test('is given in the order of asking, so that a large body is not passed over for ever', async () => {
    const room = new BodyRoom({ userBytes: 10, allBytes: 100 });
    const release = await room.take('a', 6, signal);
    const large = room.take('a', 9, signal);
    const small = room.take('a', 1, signal);
    expect(await isWaiting(small)).toBe(true);
    release();
    await large;
    await small;
  });
  test('takes one that is larger than itself when nobody else is there', async () => {
    const room = new BodyRoom({ userBytes: 10, allBytes: 10 });
    (await room.take('a', 50, signal))();
    expect(room.taken).toBe(0);
  });
  test('forgets a client that has gone', async () => {
    const room = new BodyRoom({ userBytes: 10, allBytes: 100 });
    const release = await room.take('a', 10, signal);
    const gone = new AbortController();
    const waiting = room.take('a', 10, gone.signal);
    const next = room.take('a', 10, signal);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    release();
    (await next)();
    expect(room.taken).toBe(0);
  });
});
