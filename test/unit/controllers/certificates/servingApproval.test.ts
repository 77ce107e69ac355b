// Which serving certificates a node gets by itself: those that let it pose as nobody but itself.
import { expect, test } from 'vitest';
import type { V1Node } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { isForItself } from '../../../../src/controllers/certificates/servingApproval.js';

const node = (name: string, ...addresses: string[]) =>
  ({
    metadata: { name },
    status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
  }) as unknown as Stored<V1Node>;
const NODES = [
  node('a', '10.0.0.1', 'fd00::1', '10.0.0.9', '10.96.0.1', '10.0.0.2'),
  node('b', '10.0.0.2'),
  node('x.default.svc'),
  node('kubernetes'),
];
const RULES = {
  isReserved: (host: string) => ['10.0.0.9', 'kubernetes'].includes(host),
  serviceCidrs: ['10.96.0.0/16'],
};
const USAGES = ['digital signature', 'server auth'];

test.each<
  [
    string,
    boolean,
    { name?: string; dnsNames?: string[]; ipAddresses?: string[]; username?: string; usages?: string[] },
  ]
>([
  ['its name and its addresses', true, { dnsNames: ['a'], ipAddresses: ['10.0.0.1', 'FD00:0::1'] }],
  ['its name alone', true, { dnsNames: ['a'] }],
  ["another's name", false, { dnsNames: ['b'] }],
  ['an address that it has not told', false, { ipAddresses: ['10.0.0.3'] }],
  ['an address that another node has told as well', false, { ipAddresses: ['10.0.0.2'] }],
  ["the apiserver's address", false, { ipAddresses: ['10.0.0.9'] }],
  ['an address of a Service', false, { ipAddresses: ['10.96.0.1'] }],
  ['no address at all', false, { ipAddresses: ['nonsense'] }],
  ["the apiserver's name, as a node of that name", false, { name: 'kubernetes', dnsNames: ['kubernetes'] }],
  ["a Service's name, as a node of that name", false, { name: 'x.default.svc', dnsNames: ['x.default.svc'] }],
  ['asked by another', false, { dnsNames: ['a'], username: 'system:node:b' }],
  ['asked by a token', false, { dnsNames: ['a'], username: 'system:bootstrap:abcdef' }],
  ["a client's use", false, { dnsNames: ['a'], usages: ['digital signature', 'client auth'] }],
])('%s: %s', (_, approved, wish) => {
  const { name = 'a', dnsNames = [], ipAddresses = [], usages = USAGES } = wish;
  const commonName = `system:node:${name}`;
  const asked = { commonName, organizations: ['system:nodes'], dnsNames, ipAddresses, emails: [], uris: [] };
  const { username = commonName } = wish;
  expect(isForItself(asked, { usages, username }, NODES, RULES)).toBe(approved);
});
