// Addresses as the kernel's tools write them.
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { formatIp, networkOf, parseIp } from '../../../src/kernel/ip.js';

// The npm package ip6addr reads the same addresses: an independent reader to agree with.
interface Ip6addr {
  parse(text: string): { toBuffer(): Buffer };
}
const ip6addr = createRequire(import.meta.url)('ip6addr') as Ip6addr;

test('agrees with ip6addr on a thousand addresses, written out and shortened', () => {
  for (let i = 0n; i < 1000n; i++) {
    // Steps that leave runs of zeros in every place.
    const value =
      (i * 0x9e3779b97f4a7c15f39cc0605cedc835n) & (0xffff0000ffff00000000ffffffff0000n >> (i % 112n));
    const text = formatIp({ family: 'inet6', value });
    if (text.startsWith('::ffff:') && text.includes('.')) continue;
    expect(ip6addr.parse(text).toBuffer().toString('hex')).toBe(value.toString(16).padStart(32, '0'));
    expect(parseIp(text)).toEqual({ family: 'inet6', value });
  }
});

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['255.255.255.255', '255.255.255.255'],
  ['::', '::'],
  ['::1', '::1'],
  ['FD00:0:0:0:0:0:0:1', 'fd00::1'],
  ['2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1'],
  ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
  ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
])('%s is %s', (text, written) => {
  const ip = parseIp(text);
  expect(ip && formatIp(ip)).toBe(written);
});

test.each(['', '10.0.0', '10.0.0.256', '10.0.0.01', 'fd00::1::2', 'fe80::1%eth0', 'host'])(
  '%s is no address',
  (text) => {
    expect(parseIp(text)).toBeUndefined();
  },
);

test('finds the network of an address', () => {
  const network = (text: string, prefix: number) => {
    const ip = parseIp(text);
    return ip && formatIp(networkOf(ip, prefix));
  };
  expect(network('10.1.2.3', 16)).toBe('10.1.0.0');
  expect(network('10.1.2.3', 0)).toBe('0.0.0.0');
  expect(network('fd00:1:2:3::4', 64)).toBe('fd00:1:2:3::');
});
