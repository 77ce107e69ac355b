// What every ConntrackPort must do; run against the fake and against the real kernel.
import { describe, expect, test } from 'vitest';
import type { ConntrackPort, FlowFilter, NewFlow } from '../../../src/kernel/conntrack/port.js';

const udp = (source: string, sourcePort: number, destination: string, destinationPort: number): NewFlow => ({
  protocol: 'udp',
  original: { source, destination, sourcePort, destinationPort },
  timeout: 600,
});

/** A flow to a service address that is answered by a backend. */
const translated = (source: string, service: string, backend: string, port = 1000): NewFlow => ({
  ...udp(source, port, service, 53),
  reply: { source: backend, destination: source, sourcePort: 5353, destinationPort: port },
});

/** Three service flows, an ICMP echo and a marked TCP flow in a zone, of either family. */
const someFlows = (v: (host: number) => string, echo: 'icmp' | 'icmpv6'): NewFlow[] => [
  translated(v(1), v(100), v(51)),
  translated(v(2), v(100), v(52)),
  translated(v(3), v(101), v(51)),
  {
    protocol: echo,
    original: {
      source: v(1),
      destination: v(9),
      icmpType: echo === 'icmp' ? 8 : 128,
      icmpCode: 0,
      icmpId: 77,
    },
    timeout: 600,
  },
  {
    protocol: 'tcp',
    original: { source: v(1), destination: v(9), sourcePort: 4000, destinationPort: 443 },
    timeout: 600,
    zone: 7,
    mark: 0x4002,
    tcpState: 'ESTABLISHED',
    status: ['seen-reply', 'assured'],
  },
];

export function conntrackContract(open: () => Promise<ConntrackPort>): void {
  const v4 = (host: number) => `10.0.0.${host}`;
  const v6 = (host: number) => `fd00::${host.toString(16)}`;

  describe.each([
    { family: 'inet' as const, v: v4, echo: 'icmp' as const },
    { family: 'inet6' as const, v: v6, echo: 'icmpv6' as const },
  ])('flows of $family', ({ family, v, echo }) => {
    test('are listed as they were added', async () => {
      const conntrack = await open();
      await conntrack.add(someFlows(v, echo));
      const flows = await conntrack.list();
      expect(flows).toHaveLength(5);
      const tcp = flows.find((flow) => flow.protocol === 'tcp');
      expect(tcp).toMatchObject({
        family,
        original: { source: v(1), destination: v(9), sourcePort: 4000, destinationPort: 443 },
        reply: { source: v(9), destination: v(1), sourcePort: 443, destinationPort: 4000 },
        zone: 7,
        mark: 0x4002,
        tcpState: 'ESTABLISHED',
      });
      expect(new Set(tcp?.status)).toEqual(new Set(['seen-reply', 'assured', 'confirmed']));
      expect(tcp?.timeout).toBeGreaterThan(590);
      const ping = flows.find((flow) => flow.protocol === echo);
      expect(ping?.original).toMatchObject({ icmpCode: 0, icmpId: 77 });
      expect(ping?.reply).toEqual({
        source: v(9),
        destination: v(1),
        icmpType: echo === 'icmp' ? 0 : 129,
        icmpCode: 0,
        icmpId: 77,
      });
      expect(new Set(flows.map((flow) => flow.id)).size).toBe(5);
    });

    test.each<[string, FlowFilter, number]>([
      ['original destination', { originalDestination: v(100) }, 2],
      ['original source', { originalSource: v(1) }, 3],
      ['reply source', { replySource: v(51) }, 2],
      ['reply source and its port', { replySource: v(51), replySourcePort: 5353 }, 2],
      ['reply destination', { replyDestination: v(2) }, 1],
      ['reply destination port', { replyDestinationPort: 4000 }, 1],
      ['original source port', { originalSourcePort: 4000 }, 1],
      ['service and backend together', { originalDestination: v(100), replySource: v(51) }, 1],
      ['original destination port', { protocol: 'udp', originalDestinationPort: 53 }, 3],
      ['a port of another protocol', { protocol: 'tcp', originalDestinationPort: 53 }, 0],
      ['port 0, which ICMP does not have', { originalDestinationPort: 0 }, 0],
      ['protocol by number', { protocol: 17 }, 3],
      ['protocol of the family', { family, protocol: echo }, 1],
      ['prefix', { originalDestination: family === 'inet' ? '10.0.0.96/28' : 'fd00::60/124' }, 3],
      ['zone', { zone: 7 }, 1],
      ['the default zone', { zone: 0 }, 4],
      ['mark', { mark: 0x4002 }, 1],
      ['mark under a mask', { mark: 0x4000, markMask: 0xf000 }, 1],
      ['family', { family }, 5],
      ['the other family', { family: family === 'inet' ? 'inet6' : 'inet' }, 0],
    ])('are found, counted and deleted by %s', async (_, filter, expected) => {
      const conntrack = await open();
      await conntrack.add(someFlows(v, echo));
      expect(await conntrack.count([filter])).toBe(expected);
      const meant = new Set((await conntrack.list([filter])).map((flow) => flow.id));
      expect(meant.size).toBe(expected);
      const before = (await conntrack.list()).map((flow) => flow.id);
      expect(await conntrack.delete([filter])).toBe(expected);
      const after = new Set((await conntrack.list()).map((flow) => flow.id));
      expect(after).toEqual(new Set(before.filter((id) => !meant.has(id))));
    });

    test('are deleted once though several filters match', async () => {
      const conntrack = await open();
      await conntrack.add(someFlows(v, echo));
      const deleted = await conntrack.delete([
        { originalDestination: v(100) },
        { replySource: v(51) },
        { zone: 7 },
        { originalDestination: v(200) },
      ]);
      expect(deleted).toBe(4);
      expect((await conntrack.list()).map((flow) => flow.protocol)).toEqual([echo]);
    });
  });

  test('no filters delete nothing and list nothing', async () => {
    const conntrack = await open();
    await conntrack.add(someFlows(v4, 'icmp'));
    expect(await conntrack.delete([])).toBe(0);
    expect(await conntrack.list([])).toEqual([]);
    expect(await conntrack.count([])).toBe(0);
    expect((await conntrack.usage()).count).toBe(5);
  });

  test('usage tells the count and the limit', async () => {
    const conntrack = await open();
    expect((await conntrack.usage()).count).toBe(0);
    await conntrack.add(someFlows(v6, 'icmpv6'));
    const usage = await conntrack.usage();
    expect(usage.count).toBe(5);
    expect(usage.max).toBeGreaterThan(1000);
  });

  test('a taken tuple is refused by index, the others are made', async () => {
    const conntrack = await open();
    await conntrack.add([udp('10.0.0.1', 1, '10.0.0.2', 2)]);
    const again = conntrack.add([
      udp('10.0.0.1', 5, '10.0.0.2', 2),
      udp('10.0.0.1', 1, '10.0.0.2', 2),
      udp('10.0.0.1', 6, '10.0.0.2', 2),
    ]);
    await expect(again).rejects.toMatchObject({
      code: 'EEXIST',
      errno: 17,
      index: 1,
      operation: expect.stringContaining('add flow'),
    });
    expect(await conntrack.list()).toHaveLength(3);
  });

  test('the same tuple in another zone is another flow', async () => {
    const conntrack = await open();
    const flow = udp('10.0.0.1', 1, '10.0.0.2', 2);
    await conntrack.add([flow, { ...flow, zone: 3 }, { ...flow, zone: 4 }]);
    expect(await conntrack.delete([{ zone: 3, originalDestination: '10.0.0.2' }])).toBe(1);
    expect((await conntrack.list()).map((left) => left.zone ?? 0).sort()).toEqual([0, 4]);
  });

  const tcp = { protocol: 'tcp', timeout: 60 } as const;
  const pair = { source: '10.0.0.1', destination: '10.0.0.2' };
  test.each<[string, NewFlow, string]>([
    ['without ports', { ...tcp, original: pair }, 'original.sourcePort'],
    [
      'of mixed families',
      { ...tcp, original: { ...pair, destination: 'fd00::2', sourcePort: 1, destinationPort: 2 } },
      'original.destination',
    ],
    [
      'with an unlike reply',
      { ...udp('10.0.0.1', 1, '10.0.0.2', 2), reply: { source: 'fd00::1', destination: 'fd00::2' } },
      'reply.source',
    ],
    ['with a port out of range', udp('10.0.0.1', 65536, '10.0.0.2', 2), 'sourcePort'],
    ['with no address', udp('ten', 1, '10.0.0.2', 2), 'source'],
    [
      'of ICMP over IPv6',
      {
        protocol: 'icmp',
        timeout: 1,
        original: { source: 'fd00::1', destination: 'fd00::2', icmpType: 8, icmpCode: 0, icmpId: 1 },
      },
      'protocol',
    ],
    ['with a TCP state on UDP', { ...udp('10.0.0.1', 1, '10.0.0.2', 2), tcpState: 'CLOSE' }, 'tcpState'],
    ['with ports on ICMP', { ...udp('10.0.0.1', 1, '10.0.0.2', 2), protocol: 'icmp' }, 'sourcePort'],
  ])('a flow %s is refused before any is made', async (_, flow, field) => {
    const conntrack = await open();
    const adding = conntrack.add([udp('10.0.0.9', 1, '10.0.0.2', 2), flow]);
    await expect(adding).rejects.toMatchObject({
      code: 'INVALID',
      index: 1,
      message: expect.stringContaining(field),
    });
    expect(await conntrack.list()).toEqual([]);
  });

  test.each<[string, FlowFilter, string]>([
    ['that is empty', {}, 'at least one field'],
    ['of mixed families', { originalSource: '10.0.0.1', replySource: 'fd00::1' }, 'replySource'],
    ['with a family unlike its address', { family: 'inet6', originalSource: '10.0.0.1' }, 'originalSource'],
    ['with a broken address', { originalDestination: '10.0.0' }, 'originalDestination'],
    ['with a prefix too long', { originalDestination: '10.0.0.0/33' }, 'originalDestination'],
    ['with a port out of range', { originalDestinationPort: 70000 }, 'originalDestinationPort'],
    ['with ports of ICMP', { protocol: 'icmp', originalDestinationPort: 7 }, 'protocol'],
    ['with a mask but no mark', { markMask: 1 }, 'markMask'],
  ])('a filter %s is refused and nothing is deleted', async (_, filter, text) => {
    const conntrack = await open();
    await conntrack.add(someFlows(v4, 'icmp'));
    await expect(conntrack.delete([{ family: 'inet' }, filter])).rejects.toMatchObject({
      code: 'INVALID',
      index: 1,
      message: expect.stringContaining(text),
    });
    expect((await conntrack.usage()).count).toBe(5);
  });

  test('after close a call rejects with CLOSED', async () => {
    const conntrack = await open();
    conntrack.close();
    conntrack.close();
    await expect(conntrack.list()).rejects.toMatchObject({ code: 'CLOSED' });
  });
}
