// Which addresses are this machine's: all of its devices', read again when a second has passed.
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { ownAddresses } from '../../../src/dns/ownAddresses.js';

test('every address of every device is known, and a new one when a second has passed, without a reading for each question', () => {
  let reads = 0;
  let now = 0;
  const eth0 = [{ address: '192.0.2.2' }];
  const isOwn = ownAddresses(
    () => {
      reads++;
      return { lo: [{ address: '127.0.0.1' }], eth0, down: undefined };
    },
    () => now,
  );
  expect(['127.0.0.1', '192.0.2.2', '192.0.2.3'].map(isOwn)).toEqual([true, true, false]);
  eth0.push({ address: '192.0.2.3' });
  expect(isOwn('192.0.2.3')).toBe(false);
  expect(reads).toBe(1);
  now = 1000;
  expect(isOwn('192.0.2.3')).toBe(true);
  expect(reads).toBe(2);
});

test('those of this machine are read by default', () => {
  const isOwn = ownAddresses();
  const all = Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address));
  expect(all.length).toBeGreaterThan(0);
  expect(all.every(isOwn)).toBe(true);
  expect(isOwn('203.0.113.200')).toBe(false);
});
