import { expect, test } from 'vitest';
import { parseList } from '../../../src/cni/config.js';
import { networkList } from '../../../src/network/podNetwork.js';

const listWith = (deniesSpoofing: boolean) =>
  networkList({
    deniesSpoofing,
    name: 'trellis-12345678',
    bridge: 'trl-12345678',
    podCidrs: ['10.244.0.0/24', 'fd00:244::/64'],
    clusterCidrs: ['10.244.0.0/16'],
    serviceCidrs: [],
    nodeIps: [],
    nftTable: 't',
    configDir: '/c',
    stateDir: '/s',
  });

test('what pods send from addresses of others is dropped unless that is allowed', () => {
  const check = { macspoofchk: true, ipspoofchk: true };
  expect(listWith(true)).toMatchObject({ plugins: [check, {}] });
  expect(JSON.stringify(listWith(false))).not.toContain('spoof');
});

test('the list is one that our own reader of CNI lists takes', () => {
  const list = listWith(true);
  expect(list).toMatchObject({
    name: 'trellis-12345678',
    plugins: [
      { type: 'bridge', ipam: { ranges: [[{ subnet: '10.244.0.0/24' }], [{ subnet: 'fd00:244::/64' }]] } },
      { type: 'portmap' },
    ],
  });
  expect(
    parseList({ name: 'x.conflist', text: JSON.stringify(list) }).plugins.map(({ type }) => type),
  ).toEqual(['bridge', 'portmap']);
});
