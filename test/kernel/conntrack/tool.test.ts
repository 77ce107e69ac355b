import { expect, test } from 'vitest';
import { openConntrack } from '../../../src/kernel/conntrack/adapter.js';
import type { Flow, NewFlow } from '../../../src/kernel/conntrack/port.js';
import { asTheToolShows, parseConntrackList } from '../../support/conntrackTool.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const byId = (a: { id: number }, b: { id: number }) => a.id - b.id;

const toolList = async (ns: TestNetNs) =>
  parseConntrackList(await ns.run('conntrack', '-L', '-o', 'extended,id')).sort(byId);

const inTheToolsTerms = (flows: readonly Flow[]) => flows.map(asTheToolShows).sort(byId);

const ports = (source: string, destination: string, sourcePort: number, destinationPort: number) => ({
  source,
  destination,
  sourcePort,
  destinationPort,
});

/** Every kind of flow that can be told, for one family. */
const flowsOf = (v: (host: number) => string, echo: 'icmp' | 'icmpv6'): NewFlow[] => [
  { protocol: 'udp', original: ports(v(1), v(2), 1000, 53), timeout: 300, mark: 0xfffffffe },
  {
    protocol: 'tcp',
    original: ports(v(1), v(100), 1000, 80),
    reply: ports(v(50), v(1), 8080, 1000),
    timeout: 300,
    tcpState: 'ESTABLISHED',
    status: ['seen-reply', 'assured'],
    mark: 7,
  },
  { protocol: 'tcp', original: ports(v(1), v(2), 1000, 81), timeout: 300, tcpState: 'SYN_SENT', zone: 5 },
  { protocol: 'tcp', original: ports(v(1), v(2), 1000, 82), timeout: 300, tcpState: 'TIME_WAIT' },
  { protocol: 'sctp', original: ports(v(1), v(2), 1, 2), timeout: 300, sctpState: 'ESTABLISHED' },
  { protocol: 'udplite', original: ports(v(1), v(2), 1, 2), timeout: 300 },
  { protocol: 'gre', original: ports(v(1), v(2), 3, 4), timeout: 300 },
  { protocol: 89, original: { source: v(1), destination: v(2) }, timeout: 300 },
  {
    protocol: echo,
    original: {
      source: v(1),
      destination: v(2),
      icmpType: echo === 'icmp' ? 8 : 128,
      icmpCode: 0,
      icmpId: 9,
    },
    timeout: 300,
  },
  { protocol: 'udp', original: { ...ports(v(1), v(2), 1000, 54), zone: 9 }, timeout: 300 },
];

describeWith({ root: true, tools: ['conntrack'] }, 'flows and the conntrack tool', () => {
  const netns = netNsPerTest();
  const open = async (ns: TestNetNs) => netns.closing(await openConntrack(ns.path));

  test.each([
    { family: 'IPv4', v: (host: number) => `10.0.0.${host}`, echo: 'icmp' as const },
    { family: 'IPv6', v: (host: number) => `fd00::${host.toString(16)}`, echo: 'icmpv6' as const },
  ])('the tool reads every $family flow that the core made', async ({ v, echo }) => {
    const ns = await netns.make();
    const conntrack = await open(ns);
    await conntrack.add(flowsOf(v, echo));
    const shown = await toolList(ns);
    expect(shown).toHaveLength(10);
    expect(inTheToolsTerms(await conntrack.list())).toEqual(shown);
    for (const { protocol, original, mark = 0 } of flowsOf(v, echo))
      expect(shown).toContainEqual(expect.objectContaining({ protocol, original, mark }));
    expect(Number(await ns.run('conntrack', '-C'))).toBe((await conntrack.usage()).count);
  });

  const service = '-s 10.0.0.1 -d 10.96.0.1 --sport 1000 --dport 80'.split(' ');
  const backend =
    '--reply-src 10.1.0.5 --reply-dst 10.0.0.1 --reply-port-src 8080 --reply-port-dst 1000'.split(' ');
  test.each<[string, string[]]>([
    [
      'a translated TCP flow',
      ['-p', 'tcp', ...service, ...backend, '--state', 'ESTABLISHED', '-u', 'ASSURED'],
    ],
    ['a DNATed UDP flow', ['-p', 'udp', ...service, '--dst-nat', '10.3.3.3']],
    [
      'a UDP flow over IPv6 in a zone',
      [...'-p udp -s fd00::1 -d fd00::2 --sport 7 --dport 53 -w 5'.split(' ')],
    ],
    ['an ICMP echo', '-p icmp -s 10.0.0.1 -d 10.0.0.9 --icmp-type 8 --icmp-code 0 --icmp-id 77'.split(' ')],
    [
      'an ICMPv6 echo',
      '-p icmpv6 -s fd00::1 -d fd00::9 --icmpv6-type 128 --icmpv6-code 0 --icmpv6-id 77'.split(' '),
    ],
    [
      'an SCTP association',
      ['-p', 'sctp', ...service, '--state', 'COOKIE_WAIT', '--orig-vtag', '1', '--reply-vtag', '2'],
    ],
  ])('the core reads %s that the tool made', async (_, flow) => {
    const ns = await netns.make();
    const conntrack = await open(ns);
    await ns.run('conntrack', '-I', ...flow, '-t', '100');
    const shown = await toolList(ns);
    expect(shown).toHaveLength(1);
    const flows = await conntrack.list();
    expect(inTheToolsTerms(flows)).toEqual(shown);
    expect(flows[0]?.timeout).toBeGreaterThan(90);
    if (flow.includes('--dst-nat')) expect(flows[0]?.status).toContain('dnat');
  });

  test('exactly the wanted flows of 10,000 are deleted, by 1,000 filters at once', async () => {
    const ns = await netns.make();
    const conntrack = await open(ns);
    const service = (i: number) =>
      i % 2 === 0 ? `10.96.${i >> 8}.${i & 255}` : `fd00:96::${i.toString(16)}`;
    const client = (i: number, n: number) => (i % 2 === 0 ? `10.0.0.${n}` : `fd00::${n}`);
    const flows: NewFlow[] = [];
    for (let i = 0; i < 2000; ++i)
      for (let n = 1; n <= 5; ++n)
        flows.push({
          protocol: n === 5 ? 'tcp' : 'udp',
          original: ports(client(i, n), service(i), 4000, 53),
          timeout: 900,
        });
    await conntrack.add(flows);
    expect((await conntrack.usage()).count).toBe(10_000);

    const filters = Array.from({ length: 1000 }, (_, i) => ({
      protocol: 'udp' as const,
      originalDestination: service(i),
      originalDestinationPort: 53,
    }));
    expect(await conntrack.delete(filters)).toBe(4000);

    const gone = new Set(filters.map((filter) => filter.originalDestination));
    const left = flows.filter((flow) => flow.protocol === 'tcp' || !gone.has(flow.original.destination));
    const name = ({ protocol, original }: Pick<Flow, 'protocol' | 'original'>) =>
      `${protocol} ${original.source} ${original.destination}`;
    expect((await toolList(ns)).map(name).sort()).toEqual(left.map(name).sort());
    expect(await conntrack.delete(filters)).toBe(0);
  });

  test('an unknown field is refused by name, in flows and in filters', async () => {
    const conntrack = await open(await netns.make());
    const flow = {
      protocol: 'udp' as const,
      original: ports('10.0.0.1', '10.0.0.2', 1, 2),
      timeout: 300,
      nope: 1,
    };
    const unknown = { code: 'INVALID', index: 0, message: expect.stringContaining("unknown field 'nope'") };
    await expect(conntrack.add([flow])).rejects.toMatchObject(unknown);
    const filter = { family: 'inet' as const, nope: 1 };
    await expect(conntrack.delete([filter])).rejects.toMatchObject(unknown);
    expect((await conntrack.usage()).count).toBe(0);
  });

  test('flows of another namespace are not seen and not touched', async () => {
    const [here, there] = [await netns.make(), await netns.make()];
    const [ours, theirs] = [await open(here), await open(there)];
    const flow: NewFlow = { protocol: 'udp', original: ports('10.0.0.1', '10.0.0.2', 1, 2), timeout: 300 };
    await ours.add([flow]);
    await theirs.add([flow]);
    expect(await ours.delete([{ family: 'inet' }])).toBe(1);
    expect(await toolList(here)).toEqual([]);
    expect(await toolList(there)).toHaveLength(1);
  });
});
