// Services and destinations made here are what ipvsadm(8) makes, and what it makes is read here.
// Guarantees: each case goes both ways, by the tool's own output; counters are those of real connections.
import { expect, test } from 'vitest';
import { openIpvs } from '../../../src/kernel/ipvs/adapter.js';
import type { IpvsPort, IpvsRequest } from '../../../src/kernel/ipvs/port.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const web = { protocol: 'tcp', address: '10.0.0.1', port: 80 } as const;
const web6 = { protocol: 'tcp', address: 'fd00::1', port: 80 } as const;
const dns = { protocol: 'udp', address: '10.0.0.1', port: 53 } as const;
const sctp6 = { protocol: 'sctp', address: 'fd00::1', port: 7 } as const;
const add = { do: 'add' } as const;

/** A line of `ipvsadm -R`, as `ipvsadm -Sn` prints it, and the same request here. */
const CASES: readonly (readonly [string, IpvsRequest])[] = [
  ['-A -t 10.0.0.1:80 -s rr', { ...add, kind: 'service', ...web, scheduler: 'rr' }],
  [
    '-A -t [fd00::1]:80 -s wlc -p 300 -M 64',
    { ...add, kind: 'service', ...web6, persistence: 300, persistencePrefix: 64 },
  ],
  [
    '-A -u 10.0.0.1:53 -s mh -o -b mh-fallback,mh-port',
    { ...add, kind: 'service', ...dns, scheduler: 'mh', flags: ['ops', 'mh-fallback', 'mh-port'] },
  ],
  [
    '-A --sctp-service [fd00::1]:7 -s sh -b sh-port',
    { ...add, kind: 'service', ...sctp6, scheduler: 'sh', flags: ['sh-port'] },
  ],
  [
    '-A -f 7 -s wrr -p 10 -M 255.255.255.0',
    { ...add, kind: 'service', fwmark: 7, scheduler: 'wrr', persistence: 10, persistencePrefix: 24 },
  ],
  ['-A -f 7 -6 -s lc', { ...add, kind: 'service', fwmark: 7, family: 'inet6', scheduler: 'lc' }],
  ...['lc', 'wlc', 'dh', 'sed', 'nq', 'lblc', 'lblcr', 'fo', 'ovf'].map(
    (scheduler, i) =>
      [
        `-A -t 10.0.0.2:${i + 1} -s ${scheduler}`,
        { ...add, kind: 'service', protocol: 'tcp', address: '10.0.0.2', port: i + 1, scheduler },
      ] as const,
  ),
  [
    '-a -t 10.0.0.1:80 -r 10.1.0.1:8080 -m -w 1',
    { ...add, kind: 'destination', service: web, address: '10.1.0.1', port: 8080 },
  ],
  [
    '-a -t 10.0.0.1:80 -r 10.1.0.2:80 -g -w 0',
    { ...add, kind: 'destination', service: web, address: '10.1.0.2', port: 80, forward: 'route', weight: 0 },
  ],
  [
    '-a -t 10.0.0.1:80 -r 10.1.0.3:80 -i -w 5 --tun-type ipip',
    {
      ...add,
      kind: 'destination',
      service: web,
      address: '10.1.0.3',
      port: 80,
      forward: 'tunnel',
      weight: 5,
    },
  ],
  [
    '-a -t 10.0.0.1:80 -r 10.1.0.4:80 -i -w 5 --tun-type gue --tun-port 5555 --tun-nocsum',
    {
      ...add,
      kind: 'destination',
      service: web,
      address: '10.1.0.4',
      port: 80,
      forward: 'tunnel',
      weight: 5,
      tunnelType: 'gue',
      tunnelPort: 5555,
    },
  ],
  [
    '-a -t [fd00::1]:80 -r [fd00::2]:8080 -m -w 3',
    { ...add, kind: 'destination', service: web6, address: 'fd00::2', port: 8080, weight: 3 },
  ],
  [
    '-a -t [fd00::1]:80 -r 10.1.0.9:80 -i -w 1 --tun-type ipip',
    { ...add, kind: 'destination', service: web6, address: '10.1.0.9', port: 80, forward: 'tunnel' },
  ],
  [
    '-a -f 7 -r 10.1.0.5:0 -m -w 1',
    { ...add, kind: 'destination', service: { fwmark: 7 }, address: '10.1.0.5', port: 0 },
  ],
  [
    '-a -f 7 -6 -r [fd00::5]:0 -m -w 1',
    { ...add, kind: 'destination', service: { fwmark: 7, family: 'inet6' }, address: 'fd00::5', port: 0 },
  ],
];

const saved = async (ns: TestNetNs) => (await ns.run('ipvsadm', '-Sn')).trim().split('\n').sort();

const listed = async (port: IpvsPort) =>
  (await port.list())
    .map((service) => ({
      ...service,
      destinations: service.destinations.toSorted((a, b) => a.address.localeCompare(b.address)),
    }))
    .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));

describeWith({ root: true, tools: ['ipvsadm'], features: ['ip-vs'] }, 'IPVS beside ipvsadm(8)', () => {
  const namespaces = netNsPerTest();
  const make = async () => {
    const ns = await namespaces.make();
    await ns.run('ip', 'link', 'set', 'lo', 'up');
    return { ns, port: namespaces.closing(await openIpvs(ns.path)) };
  };

  test('makes and reads services and destinations as ipvsadm does', async () => {
    const [ours, theirs] = [await make(), await make()];
    await ours.port.apply(CASES.map(([, request]) => request));
    for (const [line] of CASES) await theirs.ns.run('ipvsadm', ...line.split(' '));
    expect(await saved(ours.ns)).toEqual(await saved(theirs.ns));
    expect(await saved(ours.ns)).toHaveLength(CASES.length);
    expect(await listed(theirs.port)).toEqual(await listed(ours.port));
    for (const { destinations } of await listed(theirs.port))
      for (const destination of destinations) expect(destination).toMatchObject({ activeConnections: 0 });
  });

  test('sets thresholds that ipvsadm shows, and reads those it sets', async () => {
    const { ns, port } = await make();
    await port.apply([
      { ...add, kind: 'service', ...web },
      {
        ...add,
        kind: 'destination',
        service: web,
        address: '10.1.0.1',
        port: 1,
        upperThreshold: 20,
        lowerThreshold: 10,
      },
    ]);
    await ns.run('ipvsadm', ...'-a -t 10.0.0.1:80 -r 10.1.0.2:2 -m -x 40 -y 30'.split(' '));
    const shown = await ns.run('ipvsadm', '-Ln', '--thresholds');
    expect(shown).toMatch(/10\.1\.0\.1:1\s+20\s+10/);
    expect(shown).toMatch(/10\.1\.0\.2:2\s+40\s+30/);
    expect((await port.get(web))?.destinations).toContainEqual(
      expect.objectContaining({ address: '10.1.0.2', upperThreshold: 40, lowerThreshold: 30 }),
    );
  });

  test('changes and deletes as ipvsadm does', async () => {
    const { ns, port } = await make();
    await ns.run('ipvsadm', ...'-A -t 10.0.0.1:80 -s rr'.split(' '));
    await ns.run('ipvsadm', ...'-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m'.split(' '));
    await port.apply([
      { do: 'change', kind: 'service', ...web, scheduler: 'sh', flags: ['sh-port'] },
      { do: 'change', kind: 'destination', service: web, address: '10.1.0.1', port: 80, weight: 7 },
    ]);
    expect(await saved(ns)).toEqual([
      '-A -t 10.0.0.1:80 -s sh -b sh-port',
      '-a -t 10.0.0.1:80 -r 10.1.0.1:80 -m -w 7',
    ]);
    await port.apply([{ do: 'delete', kind: 'destination', service: web, address: '10.1.0.1', port: 80 }]);
    expect(await saved(ns)).toEqual(['-A -t 10.0.0.1:80 -s sh -b sh-port']);
    await port.apply([{ do: 'flush', kind: 'service' }]);
    expect(await saved(ns)).toEqual(['']);
  });

  test('sets and reads timeouts', async () => {
    const { ns, port } = await make();
    await port.apply([{ do: 'change', kind: 'timeouts', tcp: 100, tcpFin: 50, udp: 25 }]);
    expect(await ns.run('ipvsadm', '-Ln', '--timeout')).toContain('100 50 25');
    await ns.run('ipvsadm', '--set', '200', '60', '30');
    expect(await port.timeouts()).toEqual({ tcp: 200, tcpFin: 60, udp: 30 });
    const [, size] = /size=(\d+)/.exec(await ns.run('ipvsadm', '-Ln')) ?? [];
    expect(await port.info()).toEqual({ version: '1.2.1', connectionTableSize: Number(size) });
  });

  test('counts what passes through, until the counters are set back', async () => {
    const { ns, port } = await make();
    await ns.run('ip', 'address', 'add', '10.0.0.1/32', 'dev', 'lo');
    await port.apply([
      { ...add, kind: 'service', ...dns, scheduler: 'rr' },
      { ...add, kind: 'destination', service: dns, address: '127.0.0.1', port: 5353 },
    ]);
    const send = `const s = require('dgram').createSocket('udp4'); s.send('hello', 53, '10.0.0.1', () => s.close());`;
    await ns.run(process.execPath, '-e', send);
    // The kernel adds the counters up every two seconds.
    await until(async () => {
      const service = await port.get(dns);
      const statistics = { connections: 1, inPackets: 1, inBytes: 33 };
      expect(service?.statistics).toMatchObject(statistics);
      expect(service?.destinations).toMatchObject([{ inactiveConnections: 1, statistics }]);
    });
    // Nobody listens, so the answer is an ICMP message: that is what goes out.
    const { statistics } = (await port.get(dns)) ?? {};
    const shown = await ns.run('ipvsadm', '-Ln', '--stats', '--exact');
    const [, ...numbers] = /UDP +10\.0\.0\.1:53 +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)/.exec(shown) ?? [];
    expect(numbers.map(Number)).toEqual([
      statistics?.connections,
      statistics?.inPackets,
      statistics?.outPackets,
      statistics?.inBytes,
      statistics?.outBytes,
    ]);
    await port.apply([{ do: 'zero', kind: 'service', ...dns }]);
    expect((await port.get(dns))?.statistics).toMatchObject({ connections: 0, inBytes: 0 });
  });

  test('takes thousands of destinations and services in one batch', async () => {
    const { ns, port } = await make();
    const services = Array.from({ length: 500 }, (_, i) => ({ ...web, port: i + 1 }) as const);
    await port.apply([
      ...services.map((key) => ({ ...add, kind: 'service', ...key, scheduler: 'rr' }) as const),
      ...services.flatMap((service) =>
        [1, 2, 3, 4].map(
          (i) => ({ ...add, kind: 'destination', service, address: `10.1.0.${i}`, port: 80 }) as const,
        ),
      ),
    ]);
    expect(await saved(ns)).toHaveLength(2500);
    const all = await port.list();
    expect(all.map(({ port: at, destinations }) => [at, destinations.length]).sort()).toEqual(
      services.map(({ port: at }) => [at, 4]).sort(),
    );
  });

  test('says why a namespace without its loopback refuses a destination', async () => {
    const ns = await namespaces.make();
    const port = namespaces.closing(await openIpvs(ns.path));
    await port.apply([{ ...add, kind: 'service', ...web }]);
    await expect(
      port.apply([{ ...add, kind: 'destination', service: web, address: '10.1.0.1', port: 80 }]),
    ).rejects.toMatchObject({ code: 'EINVAL', kernel: expect.stringContaining('loopback') });
  });

  test('keeps namespaces apart', async () => {
    const [one, other] = [await make(), await make()];
    await one.port.apply([{ ...add, kind: 'service', ...web }]);
    expect(await other.port.list()).toEqual([]);
  });
});
