// The queue between a watch and its reader: bounded, and cut off rather than grown.
import { expect, test } from 'vitest';
import { Outbox } from '../../../../src/apiserver/registry/outbox.js';

async function read(outbox: Outbox): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of outbox) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test('what waits comes as one piece, and what was queued before the end is delivered', async () => {
  let ended = 0;
  const outbox = new Outbox(() => (ended += 1));
  outbox.push(Buffer.from('a'), Buffer.from('b'));
  outbox.end();
  outbox.push(Buffer.from('too late'));
  expect(await read(outbox)).toBe('ab');
  expect(ended).toBe(1);
});

test('a beginning of any length comes first, in pieces and as it is read', async () => {
  const outbox = new Outbox(() => {}, 10);
  let made = 0;
  function* beginning() {
    for (made = 0; made < 50; made += 1) yield Buffer.alloc(100_000, 'a');
  }
  outbox.beginning = beginning();
  outbox.push(Buffer.from('after'));
  expect(made).toBe(0);
  const chunks = outbox[Symbol.asyncIterator]();
  const { value: first } = await chunks.next();
  expect(first.length).toBeLessThan(1_000_000);
  expect(made).toBeLessThan(10);
  let size = first.length;
  let last = '';
  outbox.end();
  for await (const chunk of chunks) {
    size += chunk.length;
    last = Buffer.from(chunk).toString();
  }
  expect([size, last]).toEqual([5_000_005, 'after']);
});

test('a reader that is cut off during the beginning gets no more of it', async () => {
  const outbox = new Outbox(() => {}, 10);
  outbox.beginning = Array.from({ length: 50 }, () => Buffer.alloc(100_000));
  const chunks = outbox[Symbol.asyncIterator]();
  await chunks.next();
  outbox.push(Buffer.alloc(11));
  expect(outbox.ended).toBe(true);
  expect((await chunks.next()).done).toBe(true);
});

test('a reader that falls too far behind is cut off, and its memory given back', async () => {
  let ended = 0;
  const outbox = new Outbox(() => (ended += 1), 10);
  for (let n = 0; n < 100; n += 1) outbox.push(Buffer.alloc(3));
  expect(outbox.ended).toBe(true);
  expect(ended).toBe(1);
  expect(await read(outbox)).toBe('');
});
