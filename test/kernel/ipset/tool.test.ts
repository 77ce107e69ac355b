// Sets and entries made here are what ipset(8) makes, and what it makes is read here.
// Guarantees: each case goes both ways, by the tool's own output.
import { expect, test } from 'vitest';
import { openIpset } from '../../../src/kernel/ipset/adapter.js';
import type { IpSetMember, IpSetOptions } from '../../../src/kernel/ipset/port.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

interface Case {
  readonly title: string;
  /** The arguments of `ipset create <name>`. */
  readonly create: string;
  readonly options: IpSetOptions;
  /** The arguments of `ipset add <name>` and the same entry here. */
  readonly entries: readonly (readonly [string, string | IpSetMember])[];
}

const same = (...entries: string[]) => entries.map((entry) => [entry, entry] as const);

const CASES: readonly Case[] = [
  {
    title: 'addresses',
    create: 'hash:ip family inet hashsize 4096 maxelem 1000',
    options: { type: 'hash:ip', hashsize: 4096, maxelem: 1000 },
    entries: same('10.0.0.1', '10.0.0.2'),
  },
  {
    title: 'IPv6 addresses',
    create: 'hash:ip family inet6',
    options: { type: 'hash:ip', family: 'inet6' },
    entries: same('fd00::1', '2001:db8::2'),
  },
  {
    title: 'addresses stored as networks',
    create: 'hash:ip netmask 24',
    options: { type: 'hash:ip', netmask: 24 },
    entries: same('10.1.2.3'),
  },
  {
    title: 'a full set that takes more',
    create: 'hash:ip maxelem 16 forceadd',
    options: { type: 'hash:ip', maxelem: 16, forceadd: true },
    entries: same('10.1.2.3'),
  },
  {
    title: 'ports of addresses',
    create: 'hash:ip,port comment',
    options: { type: 'hash:ip,port', comment: true },
    entries: [
      [
        '10.0.0.1,tcp:80 comment "default/web:http"',
        { entry: '10.0.0.1,tcp:80', comment: 'default/web:http' },
      ],
      ...same('10.0.0.1,udp:53', '10.0.0.1,sctp:99', '10.0.0.1,udplite:5', '10.0.0.2,8080'),
    ],
  },
  {
    title: 'ports of IPv6 addresses',
    create: 'hash:ip,port family inet6',
    options: { type: 'hash:ip,port', family: 'inet6' },
    entries: same('fd00::1,tcp:80', 'fd00::1,udp:53'),
  },
  {
    title: 'addresses with ports and addresses',
    create: 'hash:ip,port,ip',
    options: { type: 'hash:ip,port,ip' },
    entries: same('10.0.0.1,tcp:80,10.0.0.1', '10.0.0.1,udp:53,10.0.0.2'),
  },
  {
    title: 'IPv6 addresses with ports and addresses',
    create: 'hash:ip,port,ip family inet6',
    options: { type: 'hash:ip,port,ip', family: 'inet6' },
    entries: same('fd00::1,tcp:80,fd00::1'),
  },
  {
    title: 'addresses with ports and networks',
    create: 'hash:ip,port,net',
    options: { type: 'hash:ip,port,net' },
    entries: [
      ...same('10.0.0.1,udp:53,10.1.0.0/16', '10.0.0.1,tcp:53,10.2.0.1'),
      ['10.0.0.1,tcp:1,10.3.0.0/24 nomatch', { entry: '10.0.0.1,tcp:1,10.3.0.0/24', nomatch: true }],
    ],
  },
  {
    title: 'IPv6 addresses with ports and networks',
    create: 'hash:ip,port,net family inet6',
    options: { type: 'hash:ip,port,net', family: 'inet6' },
    entries: same('fd00::1,udp:53,fd01::/64'),
  },
  {
    title: 'networks',
    create: 'hash:net',
    options: { type: 'hash:net' },
    entries: [
      ...same('10.0.0.0/8', '192.168.0.1', '172.16.0.0-172.16.0.5'),
      ['10.1.0.0/16 nomatch', { entry: '10.1.0.0/16', nomatch: true }],
    ],
  },
  {
    title: 'IPv6 networks',
    create: 'hash:net family inet6',
    options: { type: 'hash:net', family: 'inet6' },
    entries: same('fd00::/8', 'fd01::1'),
  },
  {
    title: 'ports of networks',
    create: 'hash:net,port',
    options: { type: 'hash:net,port' },
    entries: same('10.0.0.0/8,tcp:443', '10.0.0.0/8,udp:1-3'),
  },
  {
    title: 'ports of IPv6 networks',
    create: 'hash:net,port family inet6',
    options: { type: 'hash:net,port', family: 'inet6' },
    entries: same('fd00::/8,tcp:443'),
  },
  {
    title: 'networks at links',
    create: 'hash:net,iface',
    options: { type: 'hash:net,iface' },
    entries: same('10.0.0.0/8,eth0', '0.0.0.0/0,physdev:veth1'),
  },
  {
    title: 'ports',
    create: 'bitmap:port range 0-65535 comment',
    options: { type: 'bitmap:port', range: '0-65535', comment: true },
    entries: [...same('80', '30000-30003'), ['81 comment "x y"', { entry: '81', comment: 'x y' }]],
  },
  {
    title: 'timeouts and counters',
    create: 'hash:ip timeout 0 counters',
    options: { type: 'hash:ip', timeout: 0, counters: true },
    entries: [['10.0.0.1 packets 5 bytes 50', { entry: '10.0.0.1', packets: 5, bytes: 50 }]],
  },
];

/** The lines of `ipset save` without what is chosen at random or shown for newer revisions only, sorted. */
const saved = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.replace(/ (bucketsize|initval) \S+/g, ''))
    .sort();

describeWith({ root: true, tools: ['ipset'] }, 'ipset beside ipset(8)', () => {
  const namespaces = netNsPerTest();

  test.each(CASES)('makes and reads $title', async ({ create, options, entries }) => {
    const [ours, theirs] = [await namespaces.make(), await namespaces.make()];
    const [our, their] = [
      namespaces.closing(await openIpset(ours.path)),
      namespaces.closing(await openIpset(theirs.path)),
    ];
    await our.apply([
      { do: 'add', kind: 'set', name: 's', ...options },
      { do: 'add', kind: 'entry', set: 's', entries: entries.map(([, entry]) => entry) },
    ]);
    await theirs.run(
      'sh',
      '-c',
      `ipset create s ${create}; ${entries.map(([text]) => `ipset add s ${text}`).join('; ')}`,
    );

    expect(saved(await ours.run('ipset', 'save'))).toEqual(saved(await theirs.run('ipset', 'save')));
    const stable = async (port: typeof our) =>
      (await port.list()).map(
        ({ revision: _r, memsize: _m, bucketsize: _b, entries: listed, ...header }) => ({
          ...header,
          entries: listed.toSorted((a, b) => a.entry.localeCompare(b.entry)),
        }),
      );
    const read = await stable(their);
    expect(read).toEqual(await stable(our));
    expect(read).toMatchObject([options]);
  });

  test('makes and reads lists of sets', async () => {
    const ns = await namespaces.make();
    const port = namespaces.closing(await openIpset(ns.path));
    await port.apply([
      { do: 'add', kind: 'set', name: 'a', type: 'hash:ip' },
      { do: 'add', kind: 'set', name: 'b', type: 'hash:net', family: 'inet6' },
      { do: 'add', kind: 'set', name: 'l', type: 'list:set', size: 16 },
      { do: 'add', kind: 'entry', set: 'l', entries: ['a', { entry: 'b', before: 'a' }] },
    ]);
    expect((await ns.run('ipset', 'save', 'l')).trim().split('\n')).toEqual([
      'create l list:set size 16',
      'add l b',
      'add l a',
    ]);
    await ns.run('ipset', 'del', 'l', 'b');
    await ns.run('ipset', 'add', 'l', 'b', 'after', 'a');
    expect((await port.get('l'))?.entries).toEqual([{ entry: 'a' }, { entry: 'b' }]);
  });

  test('reads sets of types that it does not make', async () => {
    const ns = await namespaces.make();
    const port = namespaces.closing(await openIpset(ns.path));
    await ns.run('ipset', 'create', 'm', 'bitmap:ip', 'range', '10.0.0.0/24');
    await ns.run('ipset', 'add', 'm', '10.0.0.7');
    expect(await port.get('m')).toMatchObject({ type: 'bitmap:ip', entries: [{ entry: '10.0.0.7' }] });
    await expect(
      port.apply([{ do: 'add', kind: 'entry', set: 'm', entries: ['10.0.0.8'] }]),
    ).rejects.toMatchObject({ code: 'INVALID' });
  });

  test('says of a type that the kernel lacks that it does, and of an unknown field that it is unknown', async () => {
    const ns = await namespaces.make();
    const port = namespaces.closing(await openIpset(ns.path));
    const fields = { do: 'add', kind: 'set', name: 's', type: 'hash:ip', colour: 'red' } as const;
    await expect(port.apply([fields])).rejects.toMatchObject({
      code: 'INVALID',
      message: "add set s: unknown field 'colour'",
    });
    const outcome = await port.apply([{ do: 'add', kind: 'set', name: 'k', type: 'hash:ip,mark' }]).then(
      () => 'made',
      (error: { code: string; message: string }) => error,
    );
    if (outcome !== 'made')
      expect(outcome).toMatchObject({
        code: 'IPSET_ERR_FIND_TYPE',
        message: 'add set k: this kernel does not have the set type',
      });
  });
});
