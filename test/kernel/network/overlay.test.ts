// Overlay daemons on hosts of their own, joined by a wire: pods of one reach pods of the others.
import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import type { V1Node } from '../../../src/api/gen/types.js';
import { silentLog } from '../../../src/api/log.js';
import type { Stored } from '../../../src/api/object.js';
import { NODES } from '../../../src/api/resources.js';
import { openConntrack } from '../../../src/kernel/conntrack/adapter.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import type { NftPort } from '../../../src/kernel/nftables/port.js';
import { openOffload } from '../../../src/kernel/offload.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import type { RouteEvent, RoutePort } from '../../../src/kernel/route/port.js';
import { Overlay, removeOverlay } from '../../../src/network/overlay/overlay.js';
import { annotationsOf, type Backend } from '../../../src/network/overlay/peer.js';
import { FakeApi } from '../../support/fakeApi.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';
import { StaticInformers } from '../../support/staticInformers.js';
import { until } from '../../support/until.js';

const namespaces = netNsPerTest();
const devices = { IPv4: 'vx4', IPv6: 'vx6' };
const nftTable = 'trellis-nodes-test';
const clusterCidrs = ['10.244.0.0/16', 'fd00:244::/48'];

interface Host {
  readonly ns: TestNetNs;
  readonly route: RoutePort;
  readonly nft: NftPort;
  readonly number: number;
}

const node = (n: number, annotations: Record<string, string> = {}) =>
  ({
    metadata: { name: `n${n}`, uid: `n${n}`, resourceVersion: '1', creationTimestamp: '', annotations },
    spec: { podCIDRs: [`10.244.${n}.0/24`, `fd00:244:0:${n}::/64`] },
    status: { addresses: [{ type: 'InternalIP', address: `192.168.7.${n}` }] },
  }) as unknown as Stored<V1Node>;

/** Hands packets from one port to the other as they are, with the checksums that were left to the hardware undone. */
const BAD_HARDWARE = `
import select, socket, sys
ports = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in sys.argv[1:]]
for port, name in zip(ports, sys.argv[1:]): port.bind((name, 0))
while True:
    for port in select.select(ports, [], [])[0]:
        data, origin = port.recvfrom(65536)
        if origin[2] != socket.PACKET_OUTGOING: ports[1 - ports.index(port)].send(data)
`;

/** One packet of a pod, as a VXLAN device of network 1 would send it: to an address, for the device with that MAC. */
const FORGED = `
import socket, sys
frame = bytes.fromhex(sys.argv[2].replace(':', '')) + bytes(6) + b'\\x08\\x00' + bytes(46)
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'\\x08' + bytes(5) + bytes([int((sys.argv[3:] or [1])[0]), 0]) + frame, (sys.argv[1], 8472))
`;

/** Hosts on one switch, each with a bridge that holds the first address of its pods. */
async function makeHosts(count: number, isBad = false): Promise<Host[]> {
  const hub = await namespaces.make();
  const wire = namespaces.closing(await openRoute(hub.path));
  await wire.apply([{ do: 'add', kind: 'link', name: 'switch', type: 'bridge', up: true }]);
  const hosts: Host[] = [];
  for (let number = 1; number <= count; number++) {
    const ns = await namespaces.make();
    const route = namespaces.closing(await openRoute(ns.path));
    const master = isBad ? {} : { master: 'switch' };
    const port = { do: 'add', kind: 'link', name: `port${number}`, ...master, up: true } as const;
    await wire.apply([{ ...port, peer: { name: 'eth0', netns: ns.path } }]);
    await route.apply([
      { do: 'change', kind: 'link', name: 'lo', up: true },
      { do: 'change', kind: 'link', name: 'eth0', up: true },
      { do: 'add', kind: 'address', dev: 'eth0', address: `192.168.7.${number}/24` },
      { do: 'add', kind: 'address', dev: 'eth0', address: `fd00:7::${number}/64`, flags: ['nodad'] },
      { do: 'add', kind: 'link', name: 'pods', type: 'bridge', up: true },
      { do: 'add', kind: 'address', dev: 'pods', address: `10.244.${number}.1/24` },
      { do: 'add', kind: 'address', dev: 'pods', address: `fd00:244:0:${number}::1/64`, flags: ['nodad'] },
    ]);
    const nft = namespaces.closing(await openNft(ns.path));
    hosts.push({ ns, route, nft, number });
  }
  if (isBad) {
    const words = [`--net=${hub.path}`, 'python3', '-c', BAD_HARDWARE, 'port1', 'port2'];
    const hardware = spawn('nsenter', words, { stdio: 'ignore' });
    namespaces.closing({ close: () => void hardware.kill('SIGKILL') });
  }
  return hosts;
}

/** One API that all hosts look at: what one writes the others see. */
function makeApi() {
  const informers = new StaticInformers();
  const client = new FakeApi();
  const set = (it: Stored<V1Node>) => informers.of(NODES).set(it);
  const of = client.of.bind(client);
  client.of = ((type: typeof NODES) => ({
    ...of(type),
    patch: async (
      { name }: { name: string },
      _: string,
      { metadata }: { metadata: { annotations: object } },
    ) => {
      const current = informers.of(NODES).get(name) as Stored<V1Node>;
      const annotations = { ...current.metadata.annotations, ...metadata.annotations };
      set({ ...current, metadata: { ...current.metadata, annotations } } as Stored<V1Node>);
    },
  })) as unknown as typeof client.of;
  return { informers, client, set };
}

function start(
  { route, nft, number, ns }: Host,
  api: ReturnType<typeof makeApi>,
  backend: Backend,
  nodeIps = [`192.168.7.${number}`, `fd00:7::${number}`],
  listEveryMs = 600_000,
) {
  const overlay = new Overlay({
    nodeName: `n${number}`,
    backend,
    nodeIps,
    devices,
    clusterCidrs,
    serviceCidrs: ['10.96.0.0/16'],
    ...api,
    route,
    nft,
    nftTable,
    offload: openOffload(ns.path),
    listEveryMs,
    log: silentLog,
  });
  namespaces.closing({ close: () => void overlay.stop() });
  return overlay;
}

const pings = ({ ns, number }: Host, to: Host, family: 4 | 6, seconds = 5) => {
  const pod = (n: number) => (family === 4 ? `10.244.${n}.1` : `fd00:244:0:${n}::1`);
  return ns.run(
    'busybox',
    `ping${family === 4 ? '' : '6'}`,
    '-c1',
    `-w${seconds}`,
    `-W${seconds}`,
    '-I',
    pod(number),
    pod(to.number),
  );
};

describeWith(
  { root: true, tools: ['bridge', 'busybox', 'ip', 'python3'] },
  'the overlay between hosts',
  () => {
    test.each(['vxlan', 'host-gw'] as const)(
      'joins pods of three hosts in both families: %s',
      async (backend) => {
        const hosts = await makeHosts(3);
        const api = makeApi();
        for (const { number } of hosts) api.set(node(number));
        const overlays = hosts.map((host) => start(host, api, backend));
        await Promise.all(overlays.map((overlay) => overlay.synced()));
        for (const from of hosts)
          for (const to of hosts)
            if (from !== to) for (const family of [4, 6] as const) await until(() => pings(from, to, family));

        // Somebody flushes what belongs to the overlay: it is put back.
        const [one, two] = hosts as [Host, Host];
        await one.ns.run('ip', 'route', 'flush', 'proto', '84');
        await one.ns.run('ip', '-6', 'route', 'flush', 'proto', '84');
        if (backend === 'vxlan') await one.ns.run('ip', 'link', 'delete', 'vx4');
        for (const family of [4, 6] as const) await until(() => pings(one, two, family));

        // A host that leaves the cluster is forgotten by the others.
        api.informers.of(NODES).remove('n3');
        const routes = async (host: Host) =>
          (await host.route.routes())
            .filter(({ protocol }) => protocol === 84)
            .map(({ destination }) => destination);
        await until(async () => expect(await routes(one)).toEqual(['10.244.2.0/24', 'fd00:244:0:2::/64']));

        for (const overlay of overlays) await overlay.stop();
        await removeOverlay({ devices, clusterCidrs, nftTable }, one);
        expect(await routes(one)).toEqual([]);
        expect((await one.route.links()).map(({ name }) => name).sort()).toEqual(['eth0', 'lo', 'pods']);
      },
    );

    test('takes packets of pods from nodes alone', async () => {
      const [one, two, stranger] = (await makeHosts(3)) as [Host, Host, Host];
      const api = makeApi();
      for (const { number } of [one, two]) api.set(node(number));
      const overlays = [one, two].map((host) => start(host, api, 'vxlan'));
      await Promise.all(overlays.map((overlay) => overlay.synced()));
      await until(() => pings(two, one, 4));
      const received = async (device = 'vx4') => {
        const [link] = JSON.parse(await one.ns.run('ip', '-j', '-s', 'link', 'show', device));
        return link.stats64.rx.packets as number;
      };
      const mac = (await one.route.link('vx4'))?.mac ?? '';
      const forge = () => stranger.ns.run('python3', '-c', FORGED, '192.168.7.1', mac);
      const before = await received();
      for (let packet = 0; packet < 5; packet++) await forge();
      await pings(two, one, 4);
      // The ping, and perhaps a look at checksums; five packets more if the stranger were heard.
      expect((await received()) - before).toBeLessThan(5);
      // The device listens on every address of its node: on another of the link, and on the gateway of pods.
      await one.ns.run('ip', 'address', 'add', '192.168.7.101/24', 'dev', 'eth0');
      await stranger.ns.run('ip', 'route', 'add', '10.244.1.0/24', 'via', '192.168.7.1');
      await one.ns.run(
        'nft',
        `add table ip w { counter seen { }; chain c { type filter hook prerouting priority 0;
           ip daddr { 192.168.7.101, 10.244.1.1 } udp dport 8472 counter name seen; }; }`,
      );
      const unheard = await received();
      for (let packet = 0; packet < 5; packet++)
        for (const to of ['192.168.7.101', '10.244.1.1'])
          await stranger.ns.run('python3', '-c', FORGED, to, mac);
      // They come in, as those of a Service would, which rules send on from here.
      expect(await one.ns.run('nft', 'list', 'counter', 'ip', 'w', 'seen')).toContain('packets 10 ');
      await pings(two, one, 4);
      expect((await received()) - unheard).toBeLessThan(5);
      // Another cluster's device, of another VNI on another address, has nodes of its own.
      const words = 'link add vx9 address 02:00:00:00:00:09 up type vxlan id 9 dstport 8472 nolearning';
      await one.ns.run('ip', ...words.split(' '), 'local', '192.168.7.101', 'dev', 'eth0');
      await stranger.ns.run('python3', '-c', FORGED, '192.168.7.101', '02:00:00:00:00:09', '9');
      await until(async () => expect(await received('vx9')).toBeGreaterThan(0));
      // Between nodes nothing is tracked; what has only the port in common, such as a Service's packets, is.
      await one.ns.run(
        'nft',
        'add table ip t { chain c { type filter hook output priority 0; ct state new; }; }',
      );
      const conntrack = namespaces.closing(await openConntrack(one.ns.path));
      for (const to of ['192.168.7.2', '192.168.7.3']) await one.ns.run('python3', '-c', FORGED, to, mac);
      await pings(two, one, 4);
      const tracked = await conntrack.list([{ protocol: 'udp', originalDestinationPort: 8472 }]);
      expect(tracked.map(({ original }) => original.destination)).toEqual(['192.168.7.3']);
      // The very same packet, once its sender is a node.
      const joined = node(
        3,
        annotationsOf('vxlan', [
          { family: 'IPv4', underlay: '192.168.7.3', vtep: { vni: 1, mac: '02:00:00:00:00:03' } },
        ]),
      );
      api.set(joined);
      await until(async () => {
        const then = await received();
        await forge();
        expect(await received()).toBe(then + 1);
      });
    });

    // The kernel tells nobody of the IPv4 routes that go with a link.
    test.each(['vxlan', 'host-gw'] as const)(
      'is whole again after the link between the hosts was down, and follows its size: %s',
      async (backend) => {
        const hosts = (await makeHosts(2)) as [Host, Host];
        const api = makeApi();
        for (const { number } of hosts) api.set(node(number));
        for (const host of hosts) await start(host, api, backend, [`192.168.7.${host.number}`]).synced();
        const [one, two] = hosts;
        await until(() => pings(one, two, 4));
        await one.ns.run('ip', 'link', 'set', 'eth0', 'down');
        await one.ns.run('ip', 'link', 'set', 'eth0', 'mtu', '1400', 'up');
        await until(() => pings(one, two, 4));
        if (backend === 'vxlan')
          await until(async () => expect((await one.route.link('vx4'))?.mtu).toBe(1350));
      },
    );

    test.each(['vxlan', 'host-gw'] as const)(
      'puts back what others removed or replaced: %s',
      async (backend) => {
        const hosts = (await makeHosts(2)) as [Host, Host];
        const api = makeApi();
        for (const { number } of hosts) api.set(node(number));
        for (const host of hosts) await start(host, api, backend).synced();
        const [one, two] = hosts;
        const works = async () => {
          for (const family of [4, 6] as const) await until(() => pings(one, two, family));
        };
        await works();
        const ip = (words: string) => one.ns.run('ip', ...words.split(' '));
        await ip('route replace 10.244.2.0/24 dev lo');
        await works();
        // Its routes go with an address, and the kernel tells nobody.
        await ip('addr del 192.168.7.1/24 dev eth0');
        await ip('addr add 192.168.7.1/24 dev eth0');
        await works();
        if (backend === 'host-gw') return;
        for (const words of [
          'neigh del 10.244.2.0 dev vx4',
          'neigh replace 10.244.2.0 lladdr 02:00:00:00:00:99 nud permanent dev vx4',
          'neigh replace fd00:244:0:2:: lladdr 02:00:00:00:00:99 nud permanent dev vx6',
          'addr flush dev vx4',
        ]) {
          await ip(words);
          await works();
        }
        const address = async () => (await one.route.addresses()).map((it) => it.address);
        await until(async () => expect(await address()).toContain('10.244.1.0/32'));
        const mac = (await two.route.link('vx4'))?.mac ?? '';
        await one.ns.run('bridge', 'fdb', 'replace', mac, 'dev', 'vx4', 'dst', '192.168.7.77');
        await works();
        await one.ns.run('nft', 'flush', 'ruleset');
        await until(async () => expect(await one.ns.run('nft', 'list', 'ruleset')).toContain('notrack'));
      },
    );

    test('finds now and then what the kernel tells nobody', async () => {
      const hosts = (await makeHosts(2)) as [Host, Host];
      const api = makeApi();
      for (const { number } of hosts) api.set(node(number));
      const [one] = hosts;
      for (const host of hosts) await start(host, api, 'vxlan', undefined, 100).synced();
      await one.ns.run('ip', 'link', 'set', 'vx4', 'mtu', '1000');
      await until(async () => expect((await one.route.link('vx4'))?.mtu).toBe(1450));
      const isListed = async () =>
        expect(await one.ns.run('nft', 'list', 'ruleset')).toContain('192.168.7.2');
      await until(isListed);
      await one.ns.run('nft', 'delete', 'element', 'ip', nftTable, 'nodes', '{ 192.168.7.2 }');
      await until(isListed);
    });

    test('joins a host that flannel looks after', async () => {
      const [ours, flannel] = (await makeHosts(2)) as [Host, Host];
      // What flannel does on its host: a device of its own, and its address told by annotations.
      const ip = (...words: string[]) => flannel.ns.run('ip', ...words);
      const device = ['flannel.1', 'type', 'vxlan', 'id', '1', 'dev', 'eth0', 'local', '192.168.7.2'];
      await ip('link', 'add', ...device, 'dstport', '8472', 'nolearning');
      await ip('address', 'add', '10.244.2.0/32', 'dev', 'flannel.1');
      await ip('link', 'set', 'flannel.1', 'mtu', '1450', 'up');
      const { mac = '' } = (await flannel.route.link('flannel.1')) ?? {};
      const FLANNEL = 'flannel.alpha.coreos.com';
      const api = makeApi();
      api.set(node(1));
      api.set(
        node(2, {
          [`${FLANNEL}/backend-data`]: JSON.stringify({ VNI: 1, VtepMAC: mac }),
          [`${FLANNEL}/backend-type`]: 'vxlan',
          [`${FLANNEL}/kube-subnet-manager`]: 'true',
          [`${FLANNEL}/public-ip`]: '192.168.7.2',
        }),
      );
      await start(ours, api, 'vxlan', ['192.168.7.1']).synced();
      // And what it does on reading ours.
      const { annotations = {} } = api.informers.of(NODES).get('n1')?.metadata ?? {};
      const vtep = JSON.parse(annotations[`${FLANNEL}/backend-data`] ?? '{}').VtepMAC;
      const at = annotations[`${FLANNEL}/public-ip`] ?? '';
      expect([annotations[`${FLANNEL}/backend-type`], at]).toEqual(['vxlan', '192.168.7.1']);
      await flannel.ns.run('bridge', 'fdb', 'add', vtep, 'dev', 'flannel.1', 'dst', at);
      await ip('neighbour', 'add', '10.244.1.0', 'lladdr', vtep, 'dev', 'flannel.1', 'nud', 'permanent');
      await ip('route', 'add', '10.244.1.0/24', 'via', '10.244.1.0', 'dev', 'flannel.1', 'onlink');
      await until(() => pings(ours, flannel, 4));
      await pings(flannel, ours, 4);
      expect(
        await openOffload(ours.ns.path).arrives({ from: '10.244.1.0', to: '10.244.2.0', timeoutMs: 2000 }),
      ).toBe(true);
    });

    test('does without checksums by the hardware where those do not arrive', async () => {
      const hosts = (await makeHosts(2, true)) as [Host, Host];
      const api = makeApi();
      for (const { number } of hosts) api.set(node(number));
      const overlays = hosts.map((host) => start(host, api, 'vxlan', [`192.168.7.${host.number}`]));
      const [one, two] = hosts;
      await until(() => pings(one, two, 4));
      const offload = openOffload(one.ns.path);
      await until(async () => expect(await offload.txChecksum('vx4')).toBe(false));
      await until(async () => expect(await openOffload(two.ns.path).txChecksum('vx4')).toBe(false));
      const way = { from: '10.244.1.0', to: '10.244.2.0', timeoutMs: 2000 };
      expect(await offload.arrives(way)).toBe(true);
      for (const overlay of overlays) await overlay.stop();
      // It was the hardware: with its checksums nothing arrives, while pings go on.
      await offload.setTxChecksum('vx4', true);
      expect(await offload.arrives({ ...way, timeoutMs: 500 })).toBe(false);
      await pings(one, two, 4);
    });

    test('leaves checksums to hardware that is right, and asks for no device that is not there', async () => {
      const hosts = (await makeHosts(2)) as [Host, Host];
      const api = makeApi();
      for (const { number } of hosts) api.set(node(number));
      for (const host of hosts) await start(host, api, 'vxlan').synced();
      const [one, two] = hosts;
      const offload = openOffload(one.ns.path);
      for (const [from, to] of [
        ['10.244.1.0', '10.244.2.0'],
        ['fd00:244:0:1::', 'fd00:244:0:2::'],
      ] as const)
        await until(async () => expect(await offload.arrives({ from, to, timeoutMs: 1000 })).toBe(true));
      await until(() => pings(one, two, 4));
      expect(await offload.txChecksum('vx4')).toBe(true);
      await expect(offload.txChecksum('absent')).rejects.toMatchObject({ code: 'ENODEV' });
      const wrong = { from: '10.244.1.0', to: 'fd00::1', timeoutMs: 1 };
      await expect(offload.arrives(wrong)).rejects.toThrow('of two families');
    });

    test('holds a thousand nodes, and a restart changes nothing', async () => {
      const [host] = (await makeHosts(1)) as [Host];
      const api = makeApi();
      api.set(node(1));
      for (let i = 0; i < 1000; i++) {
        const range = `10.244.${2 + (i >> 2)}.${(i % 4) * 64}/26`;
        const mac = `02:00:00:00:${(i >> 8).toString(16).padStart(2, '0')}:${(i & 255).toString(16).padStart(2, '0')}`;
        const side = {
          family: 'IPv4',
          underlay: `192.168.${8 + (i >> 8)}.${i & 255}`,
          vtep: { vni: 1, mac },
        } as const;
        const other = node(2, annotationsOf('vxlan', [side]));
        api.set({
          ...other,
          metadata: { ...other.metadata, name: `other-${i}` },
          spec: { podCIDRs: [range] },
        } as never);
      }
      const first = start(host, api, 'vxlan');
      await first.synced();
      const count = async () => (await host.route.routes()).filter(({ protocol }) => protocol === 84).length;
      expect(await count()).toBe(1000);
      await first.stop();
      const changes: unknown[] = [];
      const isOverlays = (event: RouteEvent) =>
        event.event === 'lost' ||
        (event.object.kind === 'route' && event.object.protocol === 84) ||
        (event.object.kind === 'neighbour' && event.object.state === 'permanent');
      host.route.watch(['route', 'neighbour'], (events) => changes.push(...events.filter(isOverlays)));
      await start(host, api, 'vxlan').synced();
      expect(await count()).toBe(1000);
      expect(changes).toEqual([]);
    });
  },
);
