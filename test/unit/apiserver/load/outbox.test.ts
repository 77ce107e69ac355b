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
