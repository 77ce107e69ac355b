import { describe, expect, test } from 'vitest';
import { layoutOf } from '../../../src/cluster/layout.js';
import { localNodes, requireRoom } from '../../../src/cluster/nodes/localNode.js';
import { nodeResolvConf } from '../../../src/cluster/nodes/space.js';
import { freeRange } from '../../../src/cluster/nodes/underlay.js';
import { defaultSettings } from '../../../src/cluster/settings.js';

const settings = (nodes: number, underlayCidr = '172.30.0.0/24') => ({
  ...defaultSettings('host'),
  nodes,
  underlayCidr,
});

describe('the nodes of one machine', () => {
  test('are the machine and as many more as were asked for', () => {
    expect(localNodes(layoutOf('/srv/one'), settings(1))).toEqual([]);
    expect(localNodes(layoutOf('/srv/one'), settings(3))).toMatchObject([
      { name: 'host-2', addresses: ['172.30.0.2'], layout: { dataDir: '/srv/one/nodes/host-2' } },
      { name: 'host-3', addresses: ['172.30.0.3'], layout: { dataDir: '/srv/one/nodes/host-3' } },
    ]);
  });

  test('have names of their own where the machine has one place for all', () => {
    const [two, three] = localNodes(layoutOf('/srv/one'), settings(3));
    for (const key of ['cgroup', 'underlayPort'] as const)
      expect(two?.layout[key]).not.toBe(three?.layout[key]);
    expect(two?.layout.underlayPort.length).toBeLessThan(16);
  });

  test('fit into their range, or it is said', () => {
    expect(() => requireRoom(settings(253))).not.toThrow();
    expect(() => requireRoom(settings(255))).toThrow('172.30.0.0/24 has room for 254 nodes, not for 255');
    expect(() => requireRoom(settings(2, 'fd00::/64'))).toThrow('--underlay-cidr');
  });

  test('have an address of each family of the cluster, in its order', () => {
    const both = { ...settings(2, '172.30.0.0/24,fd00:1::/64'), clusterCidr: '10.1.0.0/16,fd00:2::/56' };
    expect(localNodes(layoutOf('/srv/one'), both)[0]?.addresses).toEqual(['172.30.0.2', 'fd00:1::2']);
    for (const underlayCidr of ['172.30.0.0/24', 'fd00:1::/64,172.30.0.0/24', '172.30.0.0/24,fd00::/127'])
      expect(() => requireRoom({ ...both, underlayCidr })).toThrow('a network of IPv4 and one of IPv6');
  });
});

describe('the range of their addresses', () => {
  test.each([
    [[], '172.30.0.0/24'],
    [['0.0.0.0/0', '10.0.0.0/8', 'fd00::/8'], '172.30.0.0/24'],
    [['172.30.0.128/25'], '172.30.1.0/24'],
    [['172.30.0.0/23', '172.30.2.7/32'], '172.30.3.0/24'],
  ])('meets none of %j', (taken, range) => expect(freeRange(taken)).toBe(range));

  test('is asked for when all are taken', () => {
    expect(() => freeRange(['172.16.0.0/12'])).toThrow('--underlay-cidr');
  });
});

describe('the name servers of a node', () => {
  test.each([
    ['nameserver 10.0.0.1\n', 'nameserver 9.9.9.9\n', 'nameserver 10.0.0.1\n'],
    ['nameserver 127.0.0.53\n', 'nameserver 9.9.9.9\n', 'nameserver 9.9.9.9\n'],
    ['nameserver 127.0.0.53\nnameserver 10.0.0.1\n', 'nameserver 9.9.9.9\n', undefined],
    ['nameserver 127.0.0.1\n', undefined, 'nameserver 127.0.0.1\n'],
  ])('with %j on the host and %j behind it', (hosts, uplink, own) =>
    expect(nodeResolvConf(hosts, uplink)).toBe(own ?? hosts),
  );
});
