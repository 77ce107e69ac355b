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

test('a reader that falls too far behind is cut off, and its memory given back', async () => {
  let ended = 0;
  const outbox = new Outbox(() => (ended += 1), 10);
  for (let n = 0; n < 100; n += 1) outbox.push(Buffer.alloc(3));
  expect(outbox.ended).toBe(true);
  expect(ended).toBe(1);
  expect(await read(outbox)).toBe('');
});
