// Links made by the core are read back with `ip -j -d link`, and links made by `ip` are read back by the core.
// Guarantees: each option is compared in both directions.
import { expect, test } from 'vitest';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import type { Link } from '../../../src/kernel/route/objects.js';
import type { LinkRequest } from '../../../src/kernel/route/port.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

interface IpLink {
  ifindex: number;
  ifname: string;
  mtu: number;
  address: string;
  flags: string[];
  master?: string;
  link?: string | null;
  ifalias?: string;
  promiscuity: number;
  txqlen?: number;
  group: string;
  linkinfo?: {
    info_kind?: string;
    info_data?: Record<string, unknown>;
    info_slave_kind?: string;
    info_slave_data?: Record<string, unknown>;
  };
}

const MAC = '02:00:00:00:00:01';

/** A link as the core makes it, the `ip link add` words for the same, and what `ip -j -d` shows of it. */
interface Case {
  name: string;
  request: Omit<Extract<LinkRequest, { do: 'add' | 'replace' }>, 'do' | 'kind' | 'name'>;
  words: string;
  shown: { top?: Partial<IpLink>; data?: Record<string, unknown> };
  told: Partial<Link>;
}

const CASES: Case[] = [
  {
    name: 'a bridge with its options',
    request: {
      type: 'bridge',
      mac: MAC,
      mtu: 1400,
      up: true,
      bridge: { forwardDelay: 0, ageingTime: 12000, priority: 4096, stpState: 0, mcastSnooping: false },
    },
    words: `address ${MAC} mtu 1400 up type bridge forward_delay 0 ageing_time 12000 priority 4096 mcast_snooping 0`,
    shown: {
      top: { mtu: 1400, address: MAC },
      data: { forward_delay: 0, ageing_time: 12000, priority: 4096, stp_state: 0, mcast_snooping: 0 },
    },
    told: {
      type: 'bridge',
      mtu: 1400,
      mac: MAC,
      up: true,
      bridge: { forwardDelay: 0, ageingTime: 12000, priority: 4096, stpState: 0, mcastSnooping: false },
    },
  },
  {
    name: 'a vxlan over IPv4',
    request: {
      mac: MAC,
      vxlan: { vni: 42, port: 4789, local: '10.1.2.3', learning: false, df: 'set', ttl: 9 },
    },
    words: `address ${MAC} type vxlan id 42 dstport 4789 local 10.1.2.3 nolearning df set ttl 9`,
    shown: {
      top: { address: MAC },
      data: { id: 42, port: 4789, local: '10.1.2.3', learning: false, df: 'set', ttl: 9 },
    },
    told: {
      type: 'vxlan',
      mac: MAC,
      vxlan: { vni: 42, port: 4789, local: '10.1.2.3', learning: false, df: 'set', ttl: 9 },
    },
  },
  {
    name: 'a vxlan over IPv6',
    request: { vxlan: { vni: 16777215, port: 8472, local: 'fd00::3', udpZeroCsum6Tx: true } },
    words: 'type vxlan id 16777215 dstport 8472 local fd00::3 udp6zerocsumtx',
    shown: { data: { id: 16777215, port: 8472, local6: 'fd00::3', udp_zero_csum6_tx: true } },
    told: {
      type: 'vxlan',
      vxlan: { vni: 16777215, port: 8472, local: 'fd00::3', udpZeroCsum6Tx: true, learning: true },
    },
  },
  {
    name: 'a macvlan on its parent',
    request: { type: 'macvlan', parent: 'base', macvlan: { mode: 'bridge' }, mac: MAC },
    words: `link base address ${MAC} type macvlan mode bridge`,
    shown: { top: { link: 'base', address: MAC }, data: { mode: 'bridge' } },
    told: { type: 'macvlan', mac: MAC, macvlan: { mode: 'bridge', flags: 0 } },
  },
  {
    name: 'an ifb with alias, queue length and group',
    request: { type: 'ifb', alias: 'for tests', txQueueLength: 77, group: 5 },
    words: 'txqueuelen 77 group 5 type ifb',
    shown: { top: { txqlen: 77, group: '5' } },
    told: { type: 'ifb', txQueueLength: 77, group: 5 },
  },
  {
    name: 'a veth pair with hardware addresses',
    request: { mac: MAC, peer: { name: 'other', mac: '02:00:00:00:00:02', mtu: 1300 } },
    words: `address ${MAC} type veth peer name other address 02:00:00:00:00:02 mtu 1300`,
    shown: { top: { link: 'other', address: MAC } },
    told: { type: 'veth', mac: MAC },
  },
];

const namespaces = netNsPerTest();
const showLink = async (ns: TestNetNs, name: string) =>
  (await ns.json<IpLink[]>('ip', '-j', '-d', 'link', 'show', name))[0];

async function setUp() {
  const ns = await namespaces.make();
  await ns.run('ip', 'link', 'add', 'base', 'type', 'veth', 'peer', 'name', 'base-peer');
  return { ns, route: namespaces.closing(await openRoute(ns.path)) };
}

describeWith({ root: true, tools: ['ip', 'nsenter'] }, 'links', () => {
  test.each(CASES)('$name: ip shows what the core made', async ({ request, shown }) => {
    const { ns, route } = await setUp();
    await route.apply([{ do: 'add', kind: 'link', name: 'made', ...request }]);
    const link = await showLink(ns, 'made');
    expect(link).toMatchObject(shown.top ?? {});
    expect(link?.linkinfo?.info_data ?? {}).toMatchObject(shown.data ?? {});
    if (request.alias !== undefined) expect(link?.ifalias).toBe(request.alias);
  });

  test.each(CASES)('$name: the core tells what ip made', async ({ words, told }) => {
    const { ns, route } = await setUp();
    const [before = '', after = ''] = words.split(/\bup\b/);
    await ns.run('ip', ...`link add name made ${before}${after}`.trim().split(/\s+/));
    if (words.includes(' up ')) await ns.run('ip', 'link', 'set', 'made', 'up');
    expect(await route.link('made')).toMatchObject(told);
  });

  test('a veth pair reaches straight into another namespace, as a port of a bridge', async () => {
    const { ns, route } = await setUp();
    const inner = await namespaces.make();
    await route.apply([
      { do: 'add', kind: 'link', name: 'br0', type: 'bridge', mac: MAC, up: true },
      {
        do: 'add',
        kind: 'link',
        name: 'host0',
        up: true,
        master: 'br0',
        mtu: 1450,
        peer: { name: 'eth0', netns: inner.path, mtu: 1450, mac: '0a:58:00:00:00:02' },
        port: { hairpin: true, isolated: true, learning: false },
      },
    ]);
    const inside = namespaces.closing(await openRoute(inner.path));
    await inside.apply([{ do: 'change', kind: 'link', name: 'eth0', up: true }]);
    expect(await showLink(ns, 'host0')).toMatchObject({
      master: 'br0',
      mtu: 1450,
      linkinfo: {
        info_kind: 'veth',
        info_slave_kind: 'bridge',
        info_slave_data: { hairpin: true, isolated: true, learning: false, state: 'forwarding' },
      },
    });
    const eth0 = await showLink(inner, 'eth0');
    expect(eth0).toMatchObject({ mtu: 1450, address: '0a:58:00:00:00:02' });
    expect(eth0?.flags).toContain('UP');
    const told = await route.link('host0');
    const bridge = await route.link('br0');
    expect(told).toMatchObject({
      master: bridge?.index,
      parent: eth0?.ifindex,
      operState: 'up',
      running: true,
      port: { hairpin: true, isolated: true, learning: false, state: 'forwarding' },
    });
    expect(told?.linkNetnsId).toBeTypeOf('number');
  });

  test('changes: rename, mtu, mac, master in and out, promiscuous, down, alias, move to a namespace', async () => {
    const { ns, route } = await setUp();
    const other = await namespaces.make();
    await route.apply([
      { do: 'add', kind: 'link', name: 'br0', type: 'bridge' },
      { do: 'change', kind: 'link', name: 'base', newName: 'renamed', alias: 'an alias' },
      { do: 'change', kind: 'link', name: 'renamed', mtu: 1234, mac: MAC, up: true, promisc: true },
      { do: 'change', kind: 'link', name: 'renamed', master: 'br0' },
    ]);
    expect(await showLink(ns, 'renamed')).toMatchObject({
      mtu: 1234,
      address: MAC,
      ifalias: 'an alias',
      master: 'br0',
      flags: expect.arrayContaining(['UP', 'PROMISC']),
    });
    await route.apply([
      { do: 'change', kind: 'link', name: 'renamed', master: 0, up: false, promisc: false, arp: false },
    ]);
    const after = await showLink(ns, 'renamed');
    expect(after?.master).toBeUndefined();
    expect(after?.flags).toContain('NOARP');
    expect(after?.flags).not.toContain('UP');
    await route.apply([{ do: 'change', kind: 'link', name: 'renamed', netns: other.path, newName: 'moved' }]);
    expect(await route.link('renamed')).toBeUndefined();
    expect(await showLink(other, 'moved')).toMatchObject({ ifname: 'moved' });
  });

  test('replace makes a link or changes the one that is there', async () => {
    const { ns, route } = await setUp();
    for (const mtu of [1400, 1300]) {
      await route.apply([{ do: 'replace', kind: 'link', name: 'br0', type: 'bridge', mtu }]);
      expect(await showLink(ns, 'br0')).toMatchObject({ mtu });
    }
  });

  test('counts packets', async () => {
    const { ns, route } = await setUp();
    await ns.run('ip', 'link', 'set', 'lo', 'up');
    await ns.run('ping', '-c', '2', '-i', '0.01', '127.0.0.1').catch(() => undefined);
    const [shown] = await ns.json<[{ stats64: { rx: { packets: number; bytes: number } } }]>(
      'ip',
      '-j',
      '-s',
      'link',
      'show',
      'lo',
    );
    const told = await route.link('lo');
    expect(told).toMatchObject({ loopback: true, up: true, operState: 'unknown' });
    expect(told?.statistics?.rxBytes).toBe(shown.stats64.rx.bytes);
    expect(told?.statistics?.rxPackets).toBe(shown.stats64.rx.packets);
  });

  test('deletes by name and by index; both ends of a veth pair go', async () => {
    const { ns, route } = await setUp();
    await route.apply([{ do: 'add', kind: 'link', name: 'br0', type: 'bridge' }]);
    const bridge = await route.link('br0');
    await route.apply([
      { do: 'delete', kind: 'link', name: 'base' },
      { do: 'delete', kind: 'link', index: bridge?.index ?? 0 },
    ]);
    expect((await ns.json<IpLink[]>('ip', '-j', 'link')).map((link) => link.ifname)).toEqual(['lo']);
  });
});
