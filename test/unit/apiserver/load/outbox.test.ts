// A reader that does not read costs a bounded amount of memory, and only itself.
import { expect, it } from 'vitest';
import { Outbox } from '../../../../src/apiserver/registry/outbox.js';

it('is cut off at its limit, and gives back what it held', () => {
  let ended = 0;
  const slow = new Outbox(() => (ended += 1), 1000);
  const fast = new Outbox(() => {}, 1000);
  const event = Buffer.alloc(100);
  for (let n = 0; n < 11; n += 1) slow.push(event);
  fast.push(event);
  expect(slow.ended).toBe(true);
  expect(ended).toBe(1);
  expect(fast.ended).toBe(false);
  slow.push(event); // pushing to one that has ended is nothing
});
it('delivers what fits, in order and in one piece', async () => {
  const outbox = new Outbox(() => {}, 1000);
  outbox.push(Buffer.from('a'), Buffer.from('b'));
  outbox.end();
  const pieces: string[] = [];
  for await (const piece of outbox) pieces.push(Buffer.from(piece).toString());
  expect(pieces).toEqual(['ab']);
});
it('delivers to a reader in the process the very pieces that it was given', async () => {
  const outbox = new Outbox(() => {}, 1000);
  const given = ['a', 'b', 'c'].map((text) => Buffer.from(text));
  outbox.beginning = given.slice(0, 1);
  outbox.push(...given.slice(1));
  outbox.end();
  const pieces: Uint8Array[] = [];
  for await (const piece of outbox.pieces()) pieces.push(piece);
  expect(pieces.length).toBe(given.length);
  pieces.forEach((piece, at) => {
    expect(piece).toBe(given[at]);
  });
});
