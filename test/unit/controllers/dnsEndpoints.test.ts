// Which nodes stand behind the cluster's DNS Service.
import { expect, test } from 'vitest';
import type { V1Node } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { sliceOf } from '../../../src/controllers/dnsEndpoints.js';

const node = (port: string | undefined, ready: string, address = '10.0.0.1') =>
  ({
    metadata: { name: 'n', annotations: port === undefined ? {} : { 'trellis.local/dns-port': port } },
    status: {
      addresses: [
        { type: 'Hostname', address: 'n' },
        { type: 'InternalIP', address },
      ],
      conditions: [{ type: 'Ready', status: ready }],
    },
  }) as unknown as Stored<V1Node>;
const slice = (of: Stored<V1Node>) =>
  sliceOf(of, { namespace: 'kube-system', name: 'kube-dns-n' }, 'kube-dns');

test('a node with a name server, for its own pods first', () => {
  expect(slice(node('10053', 'True'))).toMatchObject({
    metadata: { labels: { 'kubernetes.io/service-name': 'kube-dns' } },
    addressType: 'IPv4',
    endpoints: [
      {
        addresses: ['10.0.0.1'],
        nodeName: 'n',
        conditions: { ready: true },
        hints: { forNodes: [{ name: 'n' }] },
      },
    ],
    ports: [
      { name: 'dns', protocol: 'UDP', port: 10053 },
      { name: 'dns-tcp', protocol: 'TCP', port: 10053 },
    ],
  });
  expect(slice(node('10053', 'True', 'fd00::1'))?.addressType).toBe('IPv6');
});

test.each([
  ['False', true],
  ['Unknown', false],
])('one whose readiness is %s: %s', (ready, isAsked) => {
  expect(slice(node('10053', ready))?.endpoints?.[0]?.conditions?.ready).toBe(isAsked);
});

test.each([undefined, '', '0', '65536', 'x', '-1'])('none that tells the port as %j', (port) => {
  expect(slice(node(port, 'True'))).toBeUndefined();
});
