import { expect, test } from 'vitest';
import type { Family } from '../../../../src/api/ip.js';
import type { Address, Neighbour, Route } from '../../../../src/kernel/route/objects.js';
import { isDrift } from '../../../../src/network/overlay/drift.js';
import { type Entries, entriesFor } from '../../../../src/network/overlay/entries.js';

const clusterCidrs = ['10.244.0.0/16'];
const MAC = '02:00:00:00:00:02';
const peer = { node: 'n2', podCidr: '10.244.2.0/24', underlay: '192.168.0.2', mac: MAC };
const side = { family: 'IPv4', backend: 'vxlan', device: 'vx', clusterCidrs } as const;
const ours = {
  known: new Map<Family, Entries>([['IPv4', entriesFor([peer], side)]]),
  clusterCidrs,
  nodeIps: new Set(['192.168.0.1']),
  deviceAddresses: new Set(['10.244.1.0/32']),
};

const neighbour = (more: Partial<Neighbour> = {}): Neighbour => ({
  kind: 'neighbour',
  family: 'inet',
  dev: 7,
  state: 'permanent',
  address: '10.244.2.0',
  mac: MAC,
  ...more,
});
const forward = (more: Partial<Neighbour> = {}) =>
  neighbour({ family: 'bridge', address: '192.168.0.2', ...more });
const route = (more: Partial<Route> = {}): Route => ({
  kind: 'route',
  family: 'inet',
  table: 'main',
  protocol: 84,
  destination: '10.244.2.0/24',
  gateway: '10.244.2.0',
  ...more,
});
const address = (text: string): Address => ({ kind: 'address', dev: 7, address: text });
const OTHER = '02:00:00:00:00:99';

test.each<[string, 'new' | 'delete', Neighbour | Route | Address, boolean]>([
  ['a neighbour as ours', 'new', neighbour(), false],
  ['a neighbour that is gone', 'delete', neighbour(), true],
  ['a neighbour that is gone, told as failed', 'delete', neighbour({ state: 'failed' }), true],
  ['a neighbour that is no longer permanent', 'new', neighbour({ state: 'failed' }), true],
  ['a neighbour with another device', 'new', neighbour({ mac: OTHER }), true],
  ['a neighbour of somebody else', 'delete', neighbour({ address: '10.9.9.9' }), false],
  ['a forwarding entry as ours', 'new', forward(), false],
  ['a forwarding entry that is gone', 'delete', forward(), true],
  ['our device behind another node', 'new', forward({ address: '192.168.0.77' }), true],
  ['our device no longer behind another node', 'delete', forward({ address: '192.168.0.77' }), false],
  ['a forwarding entry of somebody else', 'new', forward({ mac: OTHER }), false],
  ['a route as ours', 'new', route(), false],
  ['a route that is gone', 'delete', route(), true],
  ['a route by another gateway', 'new', route({ gateway: '10.244.9.0' }), true],
  ['a route that another daemon replaced', 'new', route({ protocol: 'static' }), true],
  ['a route of another daemon that is gone', 'delete', route({ protocol: 'static' }), false],
  ['a route to somewhere else', 'new', route({ destination: '10.99.0.0/24', protocol: 'static' }), false],
  ['an address of the node that goes', 'delete', address('192.168.0.1/24'), true],
  ['an address of the node that is back', 'new', address('192.168.0.1/24'), true],
  ['the device’s address that is gone', 'delete', address('10.244.1.0/32'), true],
  ['the device’s address, which we gave it', 'new', address('10.244.1.0/32'), false],
  ['an address of somebody else', 'delete', address('192.168.0.9/24'), false],
])('%s (%s) is told as it is', (_, event, object, expected) => {
  expect(isDrift({ event, object } as Parameters<typeof isDrift>[0], ours)).toBe(expected);
});
