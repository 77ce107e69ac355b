// Bodies that are sent and never finished: together within a bound, and small ones always find room.
import { expect, test } from 'vitest';
import { IncomingBytes } from '../../../../src/apiserver/http/incomingBytes.js';

const KB = 1024;

test('large bodies find no room beyond the bound, small ones do, and room comes back', () => {
  const bodies = new IncomingBytes(1000 * KB);
  let counted = 0;
  const open = () => bodies.open(() => (counted += 1));
  const first = open();
  for (let i = 0; i < 9; i += 1) expect(first.take(100 * KB)).toBe(true);
  const second = open();
  expect(second.take(300 * KB)).toBe(false);
  expect(open().take(60 * KB)).toBe(true);
  expect(bodies.bytes).toBeLessThanOrEqual(1000 * KB);
  expect(counted).toBe(1);
  first.release();
  first.release();
  expect(bodies.bytes).toBe(0);
  expect(open().take(300 * KB)).toBe(true);
});

test('a body of many tiny pieces counts what the pieces cost', () => {
  const bodies = new IncomingBytes(1000 * KB);
  const body = bodies.open(() => {});
  let pieces = 0;
  while (pieces < 10_000 && body.take(1)) pieces += 1;
  expect(pieces).toBeLessThan(5000);
});
