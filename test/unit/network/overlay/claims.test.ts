// Whose word is believed about ranges, addresses and devices of the overlay.
import { describe, expect, test } from 'vitest';
import type { V1Node } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { type Claim, judgeClaims } from '../../../../src/network/overlay/claims.js';
import type { Peer } from '../../../../src/network/overlay/peer.js';

const ground = {
  own: { podCidr: '10.244.1.0/24', underlay: '192.168.0.1' },
  clusterCidrs: ['10.244.0.0/16'],
  serviceCidrs: ['10.244.240.0/20'],
};
const claim = (number: number, more: Partial<Peer> = {}, createdAt = '2026-01-01T00:00:00Z'): Claim => {
  const name = `n${number}`;
  return {
    node: { metadata: { name, creationTimestamp: createdAt } } as unknown as Stored<V1Node>,
    peer: {
      node: name,
      podCidr: `10.244.${number}.0/24`,
      underlay: `192.168.0.${number}`,
      mac: `02:00:00:00:00:0${number}`,
      ...more,
    },
  };
};
const names = (claims: readonly Claim[]) => {
  const { peers, refused } = judgeClaims(claims, ground);
  return { peers: peers.map(({ node }) => node), refused: Object.fromEntries(refused) };
};

test('nodes with ranges and addresses of their own are all believed', () => {
  expect(names([claim(2), claim(3)])).toEqual({ peers: ['n2', 'n3'], refused: {} });
});

describe('a node is refused', () => {
  test.each([
    ['everything', { podCidr: '0.0.0.0/0' }, /not within the cluster's/],
    ['a larger range', { podCidr: '10.0.0.0/8' }, /not within the cluster's/],
    ['a range beside', { podCidr: '10.245.0.0/24' }, /not within the cluster's/],
    ['another family', { podCidr: 'fd00::/64' }, /not within the cluster's/],
    ['the services', { podCidr: '10.244.241.0/24' }, /overlaps that of the services/],
    ['what holds the services', { podCidr: '10.244.128.0/17' }, /overlaps that of the services/],
    ['our range', { podCidr: '10.244.1.0/24' }, /overlaps ours/],
    ['a part of our range', { podCidr: '10.244.1.128/25' }, /overlaps ours/],
    ['what holds our range', { podCidr: '10.244.0.0/23' }, /overlaps ours/],
    ['our address', { underlay: '192.168.0.1' }, /192.168.0.1 is ours/],
    ['loopback', { underlay: '127.0.0.1' }, /loopback/],
    ['an address of a pod', { underlay: '10.244.7.7' }, /one of pods or services/],
  ])('that states %s', (_, said, why) => {
    const { peers, refused } = names([claim(2, said), claim(3)]);
    expect(peers).toEqual(['n3']);
    expect(refused).toEqual({ n2: expect.stringMatching(why) });
  });
  test.each([
    ['range', { podCidr: '10.244.3.0/24' }, /overlaps that of node n3/],
    ['address', { underlay: '192.168.0.3' }, /is that of node n3/],
    ['device', { mac: '02:00:00:00:00:03' }, /is that of node n3/],
  ])('that states the %s of an older one, which stays', (_, said, why) => {
    const { peers, refused } = names([claim(2, said, '2026-02-02T00:00:00Z'), claim(3)]);
    expect(peers).toEqual(['n3']);
    expect(refused).toEqual({ n2: expect.stringMatching(why) });
  });
});
