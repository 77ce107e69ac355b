// Where a Service's traffic may go, and by which addresses it may come: the three kinds that name such addresses.
import { describe, expect, test } from 'vitest';
import { endpointSliceKind } from '../../../../src/api/kinds/endpointSlice.js';
import { endpointsKind } from '../../../../src/api/kinds/endpoints.js';
import { serviceKind } from '../../../../src/api/kinds/service.js';
import { faultsOf, faultsOfUpdate } from './support.js';

const metadata = { name: 'web', namespace: 'default' };
const slice = (address: string) => ({
  metadata,
  addressType: address.includes(':') ? 'IPv6' : 'IPv4',
  endpoints: [{ addresses: [address] }],
});
const endpoints = (ip: string, list = 'addresses') => ({ metadata, subsets: [{ [list]: [{ ip }] }] });
const service = (ip: string) => ({
  metadata,
  spec: { externalIPs: [ip], ports: [{ port: 80 }], clusterIP: '10.96.0.9' },
});
const faults = (address: string) => [
  faultsOf(endpointSliceKind, slice(address)),
  faultsOf(endpointsKind, endpoints(address)),
  faultsOf(endpointsKind, endpoints(address, 'notReadyAddresses')),
  faultsOf(serviceKind, service(address)),
];

describe('an address of an EndpointSlice, of Endpoints or of a Service’s external IPs', () => {
  test.each([
    ['127.0.0.1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ['127.255.0.1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ['::1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ['::ffff:127.0.0.1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ['169.254.169.254', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
    ['fe80::1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
    ['224.0.0.5', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
    ['ff02::1', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
    ['0.0.0.0', 'may not be unspecified (0.0.0.0)'],
    ['::', 'may not be unspecified (::)'],
  ])('%s: %s', (address, why) => {
    for (const found of faults(address)) expect(found).toEqual([expect.stringContaining(why)]);
  });
  test.each(['10.0.0.1', '192.0.2.1', '128.0.0.1', '169.253.255.255', 'fd00::1', 'fec0::1', '2001:db8::1'])(
    '%s is taken',
    (address) => {
      for (const found of faults(address)) expect(found).toEqual([]);
    },
  );
});

test('Endpoints that hold such an address from before may be labelled, not changed', () => {
  const old = endpoints('127.0.0.1');
  const labelled = { ...old, metadata: { ...metadata, labels: { a: 'b' } } };
  expect(faultsOfUpdate(endpointsKind, old, labelled)).toEqual([]);
  expect(faultsOfUpdate(endpointsKind, old, endpoints('127.0.0.2'))).toHaveLength(1);
});
