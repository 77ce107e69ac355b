// Which address of a Node leads to its kubelet: --kubelet-preferred-address-types.
import { expect, test } from 'vitest';
import { nodeKind } from '../../../../src/api/kinds/node.js';
import type { ServerContext } from '../../../../src/apiserver/serverContext.js';
import { kubeletOnNode } from '../../../../src/apiserver/subresources/kubelet.js';

const addresses = [
  { type: 'Hostname', address: 'n1' },
  { type: 'ExternalIP', address: '203.0.113.1' },
  { type: 'InternalIP', address: '10.0.0.1' },
];

function server(addressTypes?: readonly string[]): ServerContext {
  const held = { parse: () => ({ status: { addresses } }) };
  const feed = { cacheOf: () => ({ get: () => held }) };
  const kubelet = { cert: '', key: '', ca: '', ...(addressTypes === undefined ? {} : { addressTypes }) };
  return { kinds: [nodeKind], feed, kubelet } as unknown as ServerContext;
}

test.each([
  [undefined, '10.0.0.1'],
  [['Hostname', 'InternalIP'], 'n1'],
  [['ExternalDNS', 'ExternalIP', 'Hostname'], '203.0.113.1'],
])('by %j it is %s', (types, expected) => {
  expect(kubeletOnNode(server(types), 'n1').host).toBe(expected);
});

test('a node without any of them is not reached', () => {
  expect(() => kubeletOnNode(server(['ExternalDNS']), 'n1')).toThrow('no preferred addresses found');
});
