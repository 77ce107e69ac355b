import { expect, test } from 'vitest';
import {
  addressBytes,
  bigEndian,
  hostOrder,
  maskBytes,
  textBytes,
} from '../../../../src/kernel/nftables/bytes.js';

const addresses: [string, string][] = [
  ['10.0.0.1', '0a000001'],
  ['255.255.255.255', 'ffffffff'],
  ['::', '0'.repeat(32)],
  ['::1', `${'0'.repeat(31)}1`],
  ['fd00::', `fd00${'0'.repeat(28)}`],
  ['FD00:1:2:3:4:5:6:7', 'fd000001000200030004000500060007'],
  ['1::8', '00010000000000000000000000000008'],
  ['::ffff:10.0.0.1', '00000000000000000000ffff0a000001'],
];
test.each(addresses)('the bytes of %s', (text, bytes) => {
  expect(addressBytes(text)).toBe(bytes);
});

test.each([
  '',
  '10.0.0',
  '10.0.0.256',
  '010.0.0.1',
  '10.0.0.0/8',
  ':',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7:8::',
  '12345::',
  'g::',
])("'%s' is not an address", (text) => {
  expect(() => addressBytes(text)).toThrow('is not an IP address');
});

test('numbers, texts and masks', () => {
  expect(bigEndian(80, 2)).toBe('0050');
  expect(hostOrder(0x4000)).toBe('00400000');
  expect(textBytes('eth0', 16)).toBe('65746830000000000000000000000000');
  expect(maskBytes(17, 4)).toBe('ffff8000');
  expect(maskBytes(0, 4)).toBe('00000000');
  expect(maskBytes(128, 16)).toBe('f'.repeat(32));
});
