// Address and network arithmetic.
import { expect, test } from 'vitest';
import {
  addressAt,
  canonicalIp,
  cidrSize,
  contains,
  formatCidr,
  indexOf,
  parseCidr,
  printedCidr,
  subnets,
} from '../../../src/api/ip.js';

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['0.0.0.0', '0.0.0.0'],
  ['255.255.255.255', '255.255.255.255'],
  ['::', '::'],
  ['::1', '::1'],
  ['FD00:0:0:0:0:0:0:1', 'fd00::1'],
  ['2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1'],
  ['1:0:0:2:0:0:3:4', '1::2:0:0:3:4'],
  ['10:0:0:0:0:0:0:0', '10::'],
  ['1:0:2:0:3:0:4:0', '1:0:2:0:3:0:4:0'],
  ['::ffff:1.2.3.4', '::ffff:102:304'],
])('%s is written %s', (text, expected) => {
  expect(canonicalIp(text)).toBe(expected);
});

test.each([
  '',
  '1.2.3',
  '01.2.3.4',
  '1.2.3.256',
  '1.2.3.0256',
  '1.2.3.4.5',
  '1.2.3.4.',
  '1.2.3.4 ',
  '1.2..4',
  '1.2.3.1e1',
  '1234.1.1.1',
  '1.2.3.-4',
  '1:2',
  ':::',
  '1::2::3',
  'fe80::1%eth0',
  '12345::',
  '1:2:3:4:5:6:7:8::',
  '::1.2.3',
])('%s is no address', (text) => {
  expect(canonicalIp(text)).toBeUndefined();
});

test.each(['10.0.0.0', '10.0.0.0/33', '10.0.0.0/x', '10.0.0.0/08', '::/129', '/8'])(
  '%s is no network',
  (text) => {
    expect(parseCidr(text)).toBeUndefined();
  },
);

test('counts within networks of both families', () => {
  const v4 = cidr('10.96.3.4/12');
  expect(formatCidr(v4)).toBe('10.96.0.0/12');
  expect(cidrSize(v4)).toBe(1n << 20n);
  expect(addressAt(v4, 1)).toBe('10.96.0.1');
  expect(indexOf(v4, '10.96.1.0')).toBe(256n);
  expect(contains(v4, '10.111.255.255')).toBe(true);
  expect(contains(v4, '10.112.0.0')).toBe(false);
  expect(contains(v4, '::1')).toBe(false);
  expect(() => addressAt(v4, 1n << 20n)).toThrow(RangeError);
  expect(addressAt(cidr('fd00:10:96::/112'), 10)).toBe('fd00:10:96::a');
});

test('splits a network', () => {
  expect([...subnets(cidr('10.244.0.0/22'), 24)].map(formatCidr)).toEqual([
    '10.244.0.0/24',
    '10.244.1.0/24',
    '10.244.2.0/24',
    '10.244.3.0/24',
  ]);
  expect([...subnets(cidr('10.0.0.0/24'), 16)]).toEqual([]);
  expect(subnets(cidr('fd00::/8'), 128).next().value).toMatchObject({ prefix: 128 });
});

test.each([
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['::ffff:c000:201/128', '::ffff:192.0.2.1/128'],
  ['::ffff:0:0/96', '::ffff:0.0.0.0/96'],
  ['::102:304/128', '::1.2.3.4/128'],
  ['::1:0/128', '::0.1.0.0/128'],
  ['::ffff/128', '::ffff/128'],
  ['::/0', '::/0'],
  ['::1:ffff:102:304/128', '::1:ffff:102:304/128'],
  ['64:ff9b::102:304/128', '64:ff9b::102:304/128'],
])('the kernel’s tools print %s as %s', (text, printed) => {
  expect(printedCidr(cidr(text))).toBe(printed);
});

function cidr(text: string) {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new Error(`${text} is no network`);
  return parsed;
}
