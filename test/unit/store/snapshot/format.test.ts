// The snapshot file's bytes: read back as written, and refused with a reason when anything about them is wrong.
import { describe, expect, test } from 'vitest';
import { SnapshotDecoder, SnapshotEncoder } from '../../../../src/store/snapshot/format.js';
import type { Entry } from '../../../../src/store/store.js';

const entry = (key: string, value: string, revision: number): Entry => ({
  key,
  value: Buffer.from(value),
  revision,
});
const ENTRIES = [entry('/a', '1', 3), entry('/b/ü', '', 2 ** 40), entry('/c', 'x'.repeat(5_000), 7)];

function encode(entries = ENTRIES): Buffer {
  const encoder = new SnapshotEncoder();
  const head = encoder.header({ revision: 2 ** 40, timeMs: 1_700_000_000_000 });
  return Buffer.concat([head, encoder.entries(entries), encoder.end().bytes]);
}

function decode(bytes: Buffer, step = bytes.length) {
  const decoder = new SnapshotDecoder();
  const entries: Entry[] = [];
  for (let at = 0; at < bytes.length; at += step)
    entries.push(...decoder.push(bytes.subarray(at, at + step)));
  return { entries, ...decoder.finish() };
}

describe('a snapshot', () => {
  test.each([1, 7, 100, 4_096, 1_000_000])('is read back as written, in pieces of %i bytes', (step) => {
    const read = decode(encode(), step);
    expect(read.entries).toEqual(ENTRIES);
    expect(read).toMatchObject({ revision: 2 ** 40, timeMs: 1_700_000_000_000, keys: 3 });
    expect(read.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test('of nothing is a snapshot too', () => {
    expect(decode(encode([]))).toMatchObject({ entries: [], keys: 0 });
  });

  test('with any one byte changed is refused', () => {
    const bytes = encode([entry('/a', 'value', 3)]);
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0x41;
      expect(() => decode(changed), `byte ${at}`).toThrow(/cannot be used|format/);
    }
  });

  test('cut off at any place is refused', () => {
    const bytes = encode([entry('/a', 'value', 3)]);
    for (let length = 0; length < bytes.length; length++)
      expect(() => decode(bytes.subarray(0, length), 10)).toThrow(/cut off|no snapshot/);
  });

  test.each([
    ['something else', Buffer.from('{"kind":"Pod"}'), 'it is no snapshot of Trellis'],
    ['nothing', Buffer.alloc(0), 'it is no snapshot of Trellis'],
    ['more than a snapshot', Buffer.concat([encode(), Buffer.of(0)]), 'there is something after its end'],
  ])('%s is refused: %s', (_, bytes, why) => {
    expect(() => decode(bytes)).toThrow(why);
  });

  test('of a newer program says so', () => {
    const bytes = encode();
    bytes.writeUInt32BE(9, 17);
    expect(() => decode(bytes)).toThrow('has format 9, and this program knows 1; use a newer Trellis');
  });
});
