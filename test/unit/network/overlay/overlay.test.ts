// What nodes tell one another, what the kernel must hold for it, and the daemon over a kernel in memory.
import { afterEach, describe, expect, test } from 'vitest';
import type { V1Node } from '../../../../src/api/gen/types.js';
import { silentLog } from '../../../../src/api/log.js';
import type { Stored } from '../../../../src/api/object.js';
import { NODES } from '../../../../src/api/resources.js';
import { FakeNft } from '../../../../src/kernel/nftables/fake.js';
import { FakeRoute } from '../../../../src/kernel/route/fake.js';
import { difference, entriesFor, entriesFound, overlayMtu } from '../../../../src/network/overlay/entries.js';
import { Overlay, removeOverlay, subnetFile } from '../../../../src/network/overlay/overlay.js';
import { annotationsOf, peerOf } from '../../../../src/network/overlay/peer.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { StaticInformers } from '../../../support/staticInformers.js';
import { until } from '../../../support/until.js';

const vtep = (mac: string, vni = 1) => JSON.stringify({ VNI: vni, VtepMAC: mac });
const PREFIX = 'flannel.alpha.coreos.com';
const node = (n: number, annotations: Record<string, string> = {}, podCIDRs = [`10.244.${n}.0/24`]) =>
  ({
    metadata: { name: `n${n}`, uid: `n${n}`, resourceVersion: '1', creationTimestamp: '', annotations },
    spec: { podCIDRs },
    status: { addresses: [{ type: 'InternalIP', address: `192.168.0.${n}` }] },
  }) as unknown as Stored<V1Node>;
const told = (n: number, mac = `02:00:00:00:00:0${n}`) =>
  node(n, annotationsOf('vxlan', [{ family: 'IPv4', underlay: `192.168.0.${n}`, vtep: { vni: 1, mac } }]));
const wanted = { family: 'IPv4', backend: 'vxlan', vni: 1 } as const;

test('leaves room for the outer header: 50 bytes over IPv4, 70 over IPv6, none without a tunnel', () => {
  expect(overlayMtu('vxlan', { mtu: 1500, family: 'IPv4' })).toBe(1450);
  expect(overlayMtu('vxlan', { mtu: 1500, family: 'IPv6' })).toBe(1430);
  expect(overlayMtu('host-gw', { mtu: 1500, family: 'IPv6' })).toBe(1500);
});

describe('what a node says', () => {
  test('is as flannel says it', () => {
    const vtep4 = { vni: 1, mac: '8e:11:4d:6c:15:1c' };
    expect(annotationsOf('vxlan', [{ family: 'IPv4', underlay: '10.39.0.46', vtep: vtep4 }])).toEqual({
      'flannel.alpha.coreos.com/backend-data': '{"VNI":1,"VtepMAC":"8e:11:4d:6c:15:1c"}',
      'flannel.alpha.coreos.com/backend-type': 'vxlan',
      'flannel.alpha.coreos.com/kube-subnet-manager': 'true',
      'flannel.alpha.coreos.com/public-ip': '10.39.0.46',
    });
  });

  test.each([
    [
      'of flannel without a number',
      { data: '{"VtepMAC":"8E:11:4d:6c:15:1c"}' },
      { mac: '8e:11:4d:6c:15:1c' },
    ],
    ['not yet', {}, undefined],
    ['of another network', { data: vtep('02:00:00:00:00:01', 7) }, expect.stringContaining('its VNI is 7')],
    ['broken', { data: '{' }, expect.stringContaining('no VtepMAC')],
    ['a group address', { data: vtep('01:00:00:00:00:01') }, expect.stringContaining('no VtepMAC')],
    ['no text', { data: 'null' }, expect.stringContaining('no VtepMAC')],
    ['another back end', { type: 'host-gw' }, 'its back end is host-gw, ours vxlan'],
    ['no address', { ip: 'x; rm', data: vtep('02:00:00:00:00:01') }, expect.stringContaining('public-ip')],
  ])(
    'is read with care: %s',
    (_, { data, type, ip }: { data?: string; type?: string; ip?: string }, expected) => {
      const annotations = {
        ...(data === undefined ? {} : { [`${PREFIX}/backend-data`]: data }),
        ...(type === undefined ? {} : { [`${PREFIX}/backend-type`]: type }),
        ...(ip === undefined ? {} : { [`${PREFIX}/public-ip`]: ip }),
      };
      const peer = peerOf(node(2, annotations), wanted);
      if (typeof expected === 'object' && 'mac' in (expected as object))
        expect(peer).toMatchObject(expected as object);
      else expect(peer).toEqual(expected);
    },
  );

  test('host-gw needs no more than the kubelet says', () => {
    expect(peerOf(node(2), { ...wanted, backend: 'host-gw' })).toEqual({
      node: 'n2',
      podCidr: '10.244.2.0/24',
      underlay: '192.168.0.2',
    });
  });

  test('the subnet file holds both families', () => {
    const both = node(3, {}, ['10.244.3.0/24', 'fd00:1:0:3::/64']);
    expect(subnetFile(both, { clusterCidrs: ['10.244.0.0/16', 'fd00:1::/48'], mtu: 1450 })).toBe(
      [
        'FLANNEL_NETWORK=10.244.0.0/16',
        'FLANNEL_SUBNET=10.244.3.1/24',
        'FLANNEL_IPV6_NETWORK=fd00:1::/48',
        'FLANNEL_IPV6_SUBNET=fd00:1:0:3::1/64',
        'FLANNEL_MTU=1450',
        'FLANNEL_IPMASQ=true',
        '',
      ].join('\n'),
    );
  });
});

describe('the entries of a peer', () => {
  const side = {
    ...({ family: 'IPv4', backend: 'vxlan', device: 'vx' } as const),
    clusterCidrs: ['10.244.0.0/16'],
  };
  const peer = { node: 'n2', podCidr: '10.244.2.0/24', underlay: '192.168.0.2', mac: '02:00:00:00:00:02' };
  const nothing = new Map();

  test('are a forwarding entry, a neighbour and a route', () => {
    expect(difference(entriesFor([peer], side), nothing)).toMatchObject([
      { do: 'replace', kind: 'neighbour', family: 'bridge', mac: peer.mac, address: '192.168.0.2' },
      { do: 'replace', kind: 'neighbour', address: '10.244.2.0', mac: peer.mac, state: 'permanent' },
      { do: 'replace', kind: 'route', destination: '10.244.2.0/24', gateway: '10.244.2.0', onlink: true },
    ]);
  });

  test('a new device address replaces the old one and nothing else', () => {
    const moved = { ...peer, mac: '02:00:00:00:00:99' };
    expect(difference(entriesFor([moved], side), entriesFor([peer], side))).toMatchObject([
      { do: 'delete', family: 'bridge', mac: peer.mac },
      { do: 'replace', family: 'bridge', mac: moved.mac },
      { do: 'replace', address: '10.244.2.0', mac: moved.mac },
    ]);
  });

  test("routes of others, and of another cluster, are not the overlay's", () => {
    const route = { kind: 'route', family: 'inet', table: 'main', gateway: '1.1.1.1' } as const;
    const found = entriesFound(
      { ...side, backend: 'host-gw' },
      {
        routes: [
          { ...route, destination: '10.244.9.0/24', protocol: 'static' },
          { ...route, destination: '10.99.9.0/24', protocol: 84 },
          { ...route, destination: '10.244.8.0/24', protocol: 84 },
        ],
        neighbours: [],
      },
    );
    expect([...found.keys()]).toEqual(['route 10.244.8.0/24']);
  });
});

describe('the daemon', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });
  const devices = { IPv4: 'vx4', IPv6: 'vx6' };
  const clusterCidrs = ['10.244.0.0/16'];

  async function start(...nodes: Stored<V1Node>[]) {
    const route = new FakeRoute();
    await route.apply([
      { do: 'add', kind: 'link', name: 'eth0', type: 'dummy', up: true, mtu: 1500 },
      { do: 'add', kind: 'address', dev: 'eth0', address: '192.168.0.1/24' },
    ]);
    const client = new FakeApi();
    const informers = new StaticInformers();
    for (const it of nodes) {
      await client.of(NODES).create(it);
      informers.of(NODES).set(it);
    }
    const run = {
      nodeName: 'n1',
      backend: 'vxlan',
      nodeIps: ['192.168.0.1'],
      devices,
      clusterCidrs,
      serviceCidrs: ['10.96.0.0/16'],
    } as const;
    const refusals: string[] = [];
    const refused = (it: Stored<V1Node>, why: string) => void refusals.push(`${it.metadata.name}: ${why}`);
    const nft = new FakeNft();
    const nftTable = 'trellis-nodes-test';
    const overlay = new Overlay({ ...run, client, informers, route, nft, nftTable, refused, log: silentLog });
    closers.push(() => overlay.stop());
    await overlay.synced();
    const routes = async () =>
      (await route.routes({ dev: 'vx4' })).map(({ destination }) => destination).sort();
    const carriers = async () =>
      (await nft.elements({ family: 'ip', table: nftTable, set: 'nodes' })).map(({ key }) => key).sort();
    return { route, nft, nftTable, client, informers, overlay, routes, carriers, refusals };
  }

  test('makes no way to a node that states what it cannot have, and tells of it', async () => {
    const everything = { ...told(3), spec: { podCIDRs: ['0.0.0.0/0'] } };
    const { routes, carriers, refusals } = await start(node(1), told(2), everything);
    expect(await carriers()).toEqual(['192.168.0.2']);
    expect(await routes()).toEqual(['10.244.2.0/24']);
    expect(refusals).toEqual(["n3: its range 0.0.0.0/0 is not within the cluster's, 10.244.0.0/16"]);
  });

  test('makes nothing for a node that is alone', async () => {
    const { route, client } = await start(node(1));
    expect(await route.link('vx4')).toBeUndefined();
    expect(client.writes.filter(({ verb }) => verb !== 'create')).toEqual([]);
  });

  test('tells where it is, follows the others, and puts back what was removed', async () => {
    const { route, nft, nftTable, client, informers, routes, carriers, overlay } = await start(
      node(1),
      told(2),
    );
    expect(await route.link('vx4')).toMatchObject({
      mtu: 1450,
      up: true,
      vxlan: { vni: 1, learning: false },
    });
    const { mac } = (await route.link('vx4')) ?? {};
    expect(client.writes.at(-1)).toMatchObject({
      verb: 'patch',
      body: { metadata: { annotations: { [`${PREFIX}/backend-data`]: vtep(mac ?? '') } } },
    });
    expect(await routes()).toEqual(['10.244.2.0/24']);

    informers.of(NODES).set(told(3));
    await until(async () => expect(await routes()).toEqual(['10.244.2.0/24', '10.244.3.0/24']));
    informers.of(NODES).remove('n2');
    await until(async () => expect(await routes()).toEqual(['10.244.3.0/24']));
    expect(await carriers()).toEqual(['192.168.0.3']);
    expect(await route.neighbours({ dev: 'vx4', family: 'bridge' })).toHaveLength(1);

    await route.apply([{ do: 'delete', kind: 'link', name: 'vx4' }]);
    await until(async () => expect(await routes()).toEqual(['10.244.3.0/24']));

    await overlay.stop();
    for (let again = 0; again < 2; again++)
      await removeOverlay({ devices, clusterCidrs, nftTable }, { route, nft });
    expect(await nft.tables()).toEqual([]);
    expect((await route.links()).map(({ name }) => name)).toEqual(['lo', 'eth0']);
  });
});
