// Frames in pieces: what a reader that does not read can hold.
import { expect, test } from 'vitest';
import { FrameChunks, owned, PIECE } from '../../../../src/apiserver/registry/frameChunks.js';
import { Frames } from '../../../../src/apiserver/registry/frames.js';

/** Frames of these sizes, each filled with its number; counts how often each is made. */
function source(sizes: readonly number[]) {
  const made: number[] = sizes.map(() => 0);
  let at = 0;
  return {
    made,
    frame: () => {
      const size = sizes[at];
      if (size === undefined) return undefined;
      made[at] = (made[at] ?? 0) + 1;
      return Buffer.alloc(size, at + 1);
    },
    sent: () => {
      at += 1;
    },
  };
}

test.each([
  ['many small ones', Array.from({ length: 500 }, () => 700)],
  ['large ones in parts', [950_000, 950_000]],
  ['small ones around a large one', [10, 20, 300_000, 5, PIECE, 1, PIECE + 1]],
  ['an empty one', [0, 10]],
])('%s come whole and in order, in pieces that keep no more than themselves', (_, sizes) => {
  const pieces = new FrameChunks(source(sizes));
  const seen: Buffer[] = [];
  for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) {
    expect(piece.length).toBeLessThanOrEqual(PIECE);
    expect(piece.buffer.byteLength).toBeLessThanOrEqual(PIECE);
    seen.push(Buffer.from(piece));
  }
  const wanted = Buffer.concat(sizes.map((size, at) => Buffer.alloc(size, at + 1)));
  expect(Buffer.concat(seen).equals(wanted)).toBe(true);
});

test('nothing is made before it is asked for', () => {
  const frames = source(Array.from({ length: 100 }, () => 50_000));
  const pieces = new FrameChunks(frames);
  expect(frames.made.filter((times) => times > 0)).toHaveLength(0);
  pieces.next();
  expect(frames.made.filter((times) => times > 0).length).toBeLessThanOrEqual(3);
});

test('a reader that keeps pieces gets its own copies of those whose memory is used again', async () => {
  const pieces = new FrameChunks(source([PIECE * 3]));
  async function* body() {
    for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) yield piece;
  }
  const kept: Uint8Array[] = [];
  for await (const piece of owned(body())) kept.push(piece);
  expect(new Set(kept.map(({ buffer }) => buffer)).size).toBe(3);
});

test('frames are made once for many, and what is kept of them is bounded, the objects counted', () => {
  const frames = new Frames(1_000_000);
  let made = 0;
  const make = () => {
    made += 1;
    return Buffer.alloc(100_000);
  };
  const object = Buffer.alloc(100_000);
  for (let watcher = 0; watcher < 1000; watcher += 1) frames.of(object, 'json ADDED', make);
  expect(made).toBe(1);
  for (let n = 0; n < 50; n += 1) {
    frames.of(Buffer.alloc(100_000), 'json ADDED', make);
    expect(frames.bytes).toBeLessThanOrEqual(1_000_000);
  }
  // One that is larger than all the room is kept until the next.
  frames.of(Buffer.alloc(10), 'json ADDED', () => Buffer.alloc(3_000_000));
  frames.of(Buffer.alloc(10), 'json ADDED', () => Buffer.alloc(10));
  expect(frames.bytes).toBeLessThan(100);
});
