// A body packed piece by piece is one gzip file.
import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { gzipped } from '../../../../src/apiserver/http/gzip.js';
import { releaseUnused } from '../../../../src/kernel/idleMemory.js';
import { until } from '../../../support/until.js';

async function packed(pieces: readonly Buffer[]): Promise<Buffer> {
  async function* body() {
    yield* pieces;
  }
  const seen: Uint8Array[] = [];
  for await (const piece of gzipped(body())) seen.push(piece);
  return Buffer.concat(seen);
}

test.each([
  ['nothing', []],
  ['one piece', [Buffer.from('one')]],
  ['an empty piece between', [Buffer.from('one'), Buffer.alloc(0), Buffer.from('two')]],
  ['many', Array.from({ length: 50 }, (_, i) => Buffer.alloc(70_000, `line ${i}\n`))],
])('%s reads back the same, and is one member', async (_, pieces) => {
  const bytes = await packed(pieces);
  expect(gunzipSync(bytes).equals(Buffer.concat(pieces))).toBe(true);
  // A second member would make readers that know only one stop early: cut off behind the first, nothing is missing.
  expect(bytes.readUInt32LE(bytes.length - 4)).toBe(Buffer.concat(pieces).length);
});

test('it packs', async () => {
  const pieces = Array.from({ length: 20 }, () => Buffer.from('{"metadata":{"name":"a"}},'.repeat(2000)));
  expect((await packed(pieces)).length).toBeLessThan(Buffer.concat(pieces).length / 10);
});

test('of what was given out, nothing is held: readers that do not read hold their own piece', async () => {
  async function* body() {
    for (;;) yield randomBytes(100_000);
  }
  const given: WeakRef<Uint8Array>[] = [];
  const readers = Array.from({ length: 10 }, () => gzipped(body()));
  for (const reader of readers)
    for (let i = 0; i < 3; i += 1) given.push(new WeakRef((await reader.next()).value as Uint8Array));
  await until(async () => {
    await releaseUnused();
    // Node itself keeps what it packed last.
    expect(given.filter((piece) => piece.deref() !== undefined).length).toBeLessThan(2);
  });
  for (const reader of readers) await reader.return?.();
});

test('memory of the body is given back as soon as it is packed', async () => {
  const asked: string[] = [];
  const body = {
    async *[Symbol.asyncIterator]() {
      asked.push('piece');
      yield Buffer.from('one');
      asked.push('piece');
      yield Buffer.from('two');
    },
    release: () => void asked.push('released'),
  };
  const bytes = gzipped(body);
  await bytes.next();
  expect(asked).toEqual(['piece', 'released']);
  await bytes.next();
  expect(asked).toEqual(['piece', 'released', 'piece', 'released']);
});
