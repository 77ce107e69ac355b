// Addresses made by the core are read back with `ip -j address`, and addresses made by `ip` by the core.
// Guarantees: flags, labels, lifetimes and peers are compared in both directions, IPv4 and IPv6.
import { expect, test } from 'vitest';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import type { AddressFields } from '../../../src/kernel/route/objects.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

interface IpAddress {
  family: string;
  local: string;
  prefixlen: number;
  [field: string]: unknown;
}

const FOR_EVER = 4294967295;

const CASES: {
  name: string;
  address: string;
  fields?: AddressFields;
  words: string;
  shown: Partial<IpAddress>;
}[] = [
  {
    name: 'IPv4 with label and broadcast',
    address: '10.0.0.1/24',
    fields: { label: 'eth0:web', broadcast: '10.0.0.255' },
    words: '10.0.0.1/24 label eth0:web broadcast 10.0.0.255',
    shown: { local: '10.0.0.1', prefixlen: 24, label: 'eth0:web', broadcast: '10.0.0.255', scope: 'global' },
  },
  {
    name: 'IPv4 point to point',
    address: '10.0.0.1/32',
    fields: { peer: '10.9.9.9' },
    words: '10.0.0.1 peer 10.9.9.9/32',
    shown: { local: '10.0.0.1', address: '10.9.9.9', prefixlen: 32 },
  },
  {
    name: 'IPv4 of link scope without a prefix route',
    address: '169.254.1.1/32',
    fields: { scope: 'link', flags: ['noprefixroute'] },
    words: '169.254.1.1/32 scope link noprefixroute',
    shown: { local: '169.254.1.1', scope: 'link', noprefixroute: true },
  },
  {
    name: 'IPv4 with lifetimes',
    address: '10.0.0.1/24',
    fields: { validLifetime: 3600, preferredLifetime: 1800 },
    words: '10.0.0.1/24 valid_lft 3600 preferred_lft 1800',
    shown: { local: '10.0.0.1', dynamic: true },
  },
  {
    name: 'IPv6 without duplicate address detection',
    address: 'fd00::1/64',
    fields: { flags: ['nodad'] },
    words: 'fd00::1/64 nodad',
    shown: { local: 'fd00::1', prefixlen: 64, scope: 'global', nodad: true },
  },
  {
    name: 'IPv6 host address with lifetimes',
    address: 'fd00::2/128',
    fields: { flags: ['nodad'], validLifetime: 3600, preferredLifetime: 0 },
    words: 'fd00::2/128 nodad valid_lft 3600 preferred_lft 0',
    shown: { local: 'fd00::2', prefixlen: 128, deprecated: true },
  },
];

const namespaces = netNsPerTest();

async function setUp() {
  const ns = await namespaces.make();
  await ns.run('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other');
  const show = async () => {
    const [link] = await ns.json<[{ addr_info: IpAddress[] }]>(
      'ip',
      '-j',
      '-d',
      'addr',
      'show',
      'dev',
      'eth0',
    );
    return link.addr_info;
  };
  return { ns, show, route: namespaces.closing(await openRoute(ns.path)) };
}

describeWith({ root: true, tools: ['ip', 'nsenter'] }, 'addresses', () => {
  test.each(CASES)('$name: ip shows what the core made', async ({ address, fields, shown }) => {
    const { route, show } = await setUp();
    await route.apply([{ do: 'add', kind: 'address', dev: 'eth0', address, ...fields }]);
    const all = await show();
    expect(all).toHaveLength(1);
    expect(all[0]).toMatchObject(shown);
    if (fields?.validLifetime !== undefined) {
      expect(all[0]?.['valid_life_time']).toBeGreaterThan(3590);
      expect(all[0]?.['preferred_life_time']).toBeLessThanOrEqual(fields.preferredLifetime ?? 0);
    }
  });

  test.each(CASES)('$name: the core tells what ip made', async ({ address, fields, words }) => {
    const { ns, route } = await setUp();
    await ns.run('ip', 'addr', 'add', ...words.split(' '), 'dev', 'eth0');
    const [told, ...more] = await route.addresses({ dev: 'eth0' });
    expect(more).toEqual([]);
    const { flags, validLifetime, preferredLifetime, ...plain } = fields ?? {};
    expect(told).toMatchObject({ kind: 'address', address, ...plain });
    expect(told?.flags).toEqual(expect.arrayContaining([...(flags ?? [])]));
    if (validLifetime === undefined) expect(told?.validLifetime).toBe(FOR_EVER);
    else expect(told?.validLifetime).toBeGreaterThan(3590);
    if (preferredLifetime !== undefined)
      expect(told?.preferredLifetime).toBeLessThanOrEqual(preferredLifetime);
  });

  test('replace changes the lifetimes of the address that is there, delete takes it away', async () => {
    const { route, show } = await setUp();
    const address = { kind: 'address', dev: 'eth0', address: '10.0.0.1/24' } as const;
    await route.apply([
      { do: 'add', ...address },
      { do: 'replace', ...address, validLifetime: 100, preferredLifetime: 50 },
    ]);
    const [shown, ...more] = await show();
    expect(more).toEqual([]);
    expect(shown?.['valid_life_time']).toBeLessThanOrEqual(100);
    await route.apply([{ do: 'delete', ...address }]);
    expect(await show()).toEqual([]);
  });

  test('lists by link and by family', async () => {
    const { route } = await setUp();
    await route.apply([
      { do: 'add', kind: 'address', dev: 'eth0', address: '10.0.0.1/24' },
      { do: 'add', kind: 'address', dev: 'eth0', address: 'fd00::1/64', flags: ['nodad'] },
      { do: 'add', kind: 'address', dev: 'other', address: '10.0.1.1/24' },
    ]);
    const texts = async (filter: Parameters<typeof route.addresses>[0]) =>
      (await route.addresses(filter)).map(({ address }) => address).sort();
    expect(await texts({ dev: 'eth0' })).toEqual(['10.0.0.1/24', 'fd00::1/64']);
    expect(await texts({ family: 'inet' })).toEqual(['10.0.0.1/24', '10.0.1.1/24']);
    expect(await texts({ family: 'inet6', dev: 'eth0' })).toEqual(['fd00::1/64']);
  });
});
