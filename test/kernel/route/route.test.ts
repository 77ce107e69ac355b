// Routes and rules made by the core are read back with `ip -j`, and those made by `ip` by the core.
// Guarantees: tables, scopes, sources, multipath, metrics and types are compared in both directions.
import { expect, test } from 'vitest';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import type { RouteFields, Rule } from '../../../src/kernel/route/objects.js';
import type { RuleRequest } from '../../../src/kernel/route/port.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const ROUTES: {
  name: string;
  destination: string;
  fields: RouteFields;
  words: string;
  shown: Record<string, unknown>;
  told?: RouteFields;
}[] = [
  {
    name: 'IPv4 by gateway',
    destination: '10.1.0.0/16',
    fields: { gateway: '10.0.0.2', metric: 50 },
    words: '10.1.0.0/16 via 10.0.0.2 metric 50',
    shown: { dst: '10.1.0.0/16', gateway: '10.0.0.2', dev: 'eth0', metric: 50 },
  },
  {
    name: 'IPv4 default',
    destination: '0.0.0.0/0',
    fields: { gateway: '10.0.0.2', preferredSource: '10.0.0.1' },
    words: 'default via 10.0.0.2 src 10.0.0.1',
    shown: { dst: 'default', gateway: '10.0.0.2', prefsrc: '10.0.0.1' },
  },
  {
    name: 'IPv4 on the link, of link scope, static',
    destination: '10.2.0.0/24',
    fields: { dev: 'eth0', scope: 'link', protocol: 'static' },
    words: '10.2.0.0/24 dev eth0 scope link proto static',
    shown: { dst: '10.2.0.0/24', dev: 'eth0', scope: 'link', protocol: 'static' },
    told: { scope: 'link', protocol: 'static' },
  },
  {
    name: 'IPv4 onlink with an mtu, in a table of its own',
    destination: '10.3.0.0/24',
    fields: {
      gateway: '192.168.7.7',
      dev: 'eth0',
      onlink: true,
      table: 100_000,
      metrics: { mtu: 1400, advmss: 1360 },
    },
    words: '10.3.0.0/24 via 192.168.7.7 dev eth0 onlink table 100000 mtu 1400 advmss 1360',
    shown: {
      dst: '10.3.0.0/24',
      gateway: '192.168.7.7',
      flags: ['onlink'],
      metrics: [{ mtu: 1400, advmss: 1360 }],
    },
    told: { gateway: '192.168.7.7', onlink: true, table: 100_000, metrics: { mtu: 1400, advmss: 1360 } },
  },
  {
    name: 'IPv4 multipath',
    destination: '10.4.0.0/24',
    fields: { nextHops: [{ gateway: '10.0.0.2', weight: 2 }, { gateway: '10.0.0.3' }] },
    words: '10.4.0.0/24 nexthop via 10.0.0.2 weight 2 nexthop via 10.0.0.3',
    shown: {
      nexthops: [
        { gateway: '10.0.0.2', dev: 'eth0', weight: 2, flags: [] },
        { gateway: '10.0.0.3', dev: 'eth0', weight: 1, flags: [] },
      ],
    },
    told: {
      nextHops: [
        { gateway: '10.0.0.2', weight: 2, dev: expect.any(Number) as unknown as number },
        { gateway: '10.0.0.3', weight: 1, dev: expect.any(Number) as unknown as number },
      ],
    },
  },
  {
    name: 'IPv4 blackhole',
    destination: '10.5.0.0/24',
    fields: { type: 'blackhole' },
    words: 'blackhole 10.5.0.0/24',
    shown: { type: 'blackhole', dst: '10.5.0.0/24' },
  },
  {
    name: 'IPv4 over an IPv6 gateway',
    destination: '10.6.0.0/24',
    fields: { gateway: 'fd00::2', dev: 'eth0' },
    words: '10.6.0.0/24 via inet6 fd00::2 dev eth0',
    shown: { dst: '10.6.0.0/24', via: { family: 'inet6', host: 'fd00::2' } },
    told: { gateway: 'fd00::2' },
  },
  {
    name: 'IPv6 by gateway with an mtu',
    destination: 'fd01::/64',
    fields: { gateway: 'fd00::2', metric: 77, metrics: { mtu: 1280 } },
    words: 'fd01::/64 via fd00::2 metric 77 mtu 1280',
    shown: { dst: 'fd01::/64', gateway: 'fd00::2', metric: 77, metrics: [{ mtu: 1280 }] },
  },
  {
    name: 'IPv6 default',
    destination: '::/0',
    fields: { gateway: 'fd00::2', dev: 'eth0' },
    words: 'default via fd00::2 dev eth0',
    shown: { dst: 'default', gateway: 'fd00::2', dev: 'eth0' },
    told: { gateway: 'fd00::2' },
  },
  {
    name: 'IPv6 multipath',
    destination: 'fd04::/64',
    fields: { nextHops: [{ gateway: 'fd00::2', weight: 3 }, { gateway: 'fd00::3' }] },
    words: 'fd04::/64 nexthop via fd00::2 weight 3 nexthop via fd00::3',
    shown: {
      nexthops: [
        { gateway: 'fd00::2', dev: 'eth0', weight: 3, flags: [] },
        { gateway: 'fd00::3', dev: 'eth0', weight: 1, flags: [] },
      ],
    },
    told: {
      nextHops: [
        { gateway: 'fd00::2', weight: 3, dev: expect.any(Number) as unknown as number },
        { gateway: 'fd00::3', weight: 1, dev: expect.any(Number) as unknown as number },
      ],
    },
  },
  {
    name: 'IPv6 unreachable',
    destination: 'fd05::/64',
    fields: { type: 'unreachable' },
    words: 'unreachable fd05::/64',
    shown: { type: 'unreachable', dst: 'fd05::/64' },
  },
];

const RULES: {
  name: string;
  request: Omit<Extract<RuleRequest, { do: 'add' | 'replace' }>, 'do' | 'kind'>;
  words: string;
  shown: object;
  told?: Partial<Rule>;
}[] = [
  {
    name: 'IPv4 by source',
    request: { priority: 100, source: '10.0.0.0/24', table: 200 },
    words: 'priority 100 from 10.0.0.0/24 table 200',
    shown: { priority: 100, src: '10.0.0.0', srclen: 24, table: '200' },
  },
  {
    name: 'IPv4 by mark, not matching',
    request: { priority: 101, mark: 0x4000, mask: 0x4000, invert: true, table: 'main' },
    words: 'priority 101 not fwmark 0x4000/0x4000 table main',
    shown: { priority: 101, not: null, fwmark: '0x4000', fwmask: '0x4000', table: 'main' },
  },
  {
    name: 'IPv4 by interface, protocol and ports',
    request: {
      priority: 102,
      inputInterface: 'eth0',
      ipProtocol: 6,
      destinationPort: '8000-8080',
      table: 200,
    },
    words: 'priority 102 iif eth0 ipproto tcp dport 8000-8080 table 200',
    shown: { priority: 102, iif: 'eth0', ipproto: 'tcp', dport_start: 8000, dport_end: 8080 },
  },
  {
    name: 'IPv4 blackhole for a destination',
    request: { priority: 103, destination: '10.9.0.0/16', action: 'blackhole' },
    words: 'priority 103 to 10.9.0.0/16 blackhole',
    shown: { priority: 103, dst: '10.9.0.0', dstlen: 16, action: 'blackhole' },
  },
  {
    name: 'IPv6 by source, suppressing the default',
    request: { priority: 104, family: 'inet6', source: 'fd00::/64', table: 'main', suppressPrefixLength: 0 },
    words: 'priority 104 from fd00::/64 table main suppress_prefixlength 0',
    shown: { priority: 104, src: 'fd00::', srclen: 64, table: 'main', suppress_prefixlen: 0 },
  },
];

const namespaces = netNsPerTest();

async function setUp() {
  const ns = await namespaces.make();
  await ns.run('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other');
  const route = namespaces.closing(await openRoute(ns.path));
  await route.apply([
    { do: 'change', kind: 'link', name: 'other', up: true },
    { do: 'change', kind: 'link', name: 'eth0', up: true },
    { do: 'add', kind: 'address', dev: 'eth0', address: '10.0.0.1/24' },
    { do: 'add', kind: 'address', dev: 'eth0', address: 'fd00::1/64', flags: ['nodad'] },
  ]);
  return { ns, route };
}

const family = (text: string) => (text.includes(':') ? 'inet6' : 'inet');
const flag = (text: string) => (family(text) === 'inet6' ? '-6' : '-4');

describeWith({ root: true, tools: ['ip', 'nsenter'] }, 'routes', () => {
  test.each(ROUTES)('$name: ip shows what the core made', async ({ destination, fields, shown }) => {
    const { ns, route } = await setUp();
    await route.apply([{ do: 'add', kind: 'route', destination, ...fields }]);
    const table = String(fields.table ?? 'main');
    const all = await ns.json<{ dst: string }[]>(
      'ip',
      flag(destination),
      '-j',
      '-d',
      'route',
      'show',
      'table',
      table,
    );
    const dst = destination.endsWith('/0') ? 'default' : destination;
    expect(all.find((entry) => entry.dst === dst)).toMatchObject(shown);
  });

  test.each(ROUTES)('$name: the core tells what ip made', async ({ destination, fields, words, told }) => {
    const { ns, route } = await setUp();
    await ns.run('ip', flag(destination), 'route', 'add', ...words.split(' '));
    const all = await route.routes({ family: family(destination), table: fields.table ?? 'main' });
    const { dev: _, ...plain } = fields;
    expect(all.find((entry) => entry.destination === destination)).toMatchObject(told ?? plain);
  });

  test.each(ROUTES)('$name: replaced and deleted', async ({ destination, fields }) => {
    const { route } = await setUp();
    const table = fields.table ?? 'main';
    const count = async () =>
      (await route.routes({ table, family: family(destination) })).filter(
        (r) => r.destination === destination,
      ).length;
    const request = { kind: 'route', destination, ...fields } as const;
    await route.apply([{ do: 'add', ...request }]);
    await route.apply([{ do: 'replace', ...request }]);
    expect(await count()).toBe(1);
    await expect(route.apply([{ do: 'add', ...request }])).rejects.toMatchObject({ code: 'EEXIST' });
    await route.apply([
      { do: 'delete', kind: 'route', destination, table, ...(fields.type ? { type: fields.type } : {}) },
    ]);
    expect(await count()).toBe(0);
  });

  test('lists by link', async () => {
    const { route } = await setUp();
    await route.apply([
      { do: 'change', kind: 'link', name: 'lo', up: true },
      { do: 'add', kind: 'route', destination: '10.8.0.0/24', dev: 'lo' },
    ]);
    expect(
      (await route.routes({ dev: 'lo', table: 'main', family: 'inet' })).map((r) => r.destination),
    ).toEqual(['10.8.0.0/24']);
  });
});

describeWith({ root: true, tools: ['ip', 'nsenter'] }, 'rules', () => {
  test.each(RULES)('$name: ip shows what the core made', async ({ request, shown }) => {
    const { ns, route } = await setUp();
    await route.apply([{ do: 'add', kind: 'rule', ...request }]);
    const six = request.family === 'inet6' ? '-6' : '-4';
    const all = await ns.json<{ priority: number }[]>('ip', six, '-j', '-d', 'rule');
    expect(all.find(({ priority }) => priority === request.priority)).toMatchObject(shown);
  });

  test.each(RULES)('$name: the core tells what ip made, and deletes it', async ({ request, words }) => {
    const { ns, route } = await setUp();
    const six = request.family === 'inet6' ? '-6' : '-4';
    await ns.run('ip', six, 'rule', 'add', ...words.split(' '));
    const ours = async () =>
      (await route.rules({ family: request.family ?? 'inet' })).filter(
        (rule) => rule.priority === request.priority,
      );
    expect(await ours()).toMatchObject([request]);
    await route.apply([{ do: 'delete', kind: 'rule', ...request }]);
    expect(await ours()).toEqual([]);
  });
});
