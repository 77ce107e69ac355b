// Real packets through rules that the core made: a service address balanced over two backends.
// Guarantees: v4 and v6; the client, the node and the backends are namespaces of their own, gone after the test.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import * as x from '../../../src/kernel/nftables/expressions.js';
import type { NftRequest } from '../../../src/kernel/nftables/port.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const FAMILIES = {
  ip: {
    service: '10.96.0.1',
    client: '10.1.0.2/24',
    nodeToClient: '10.1.0.1/24',
    backends: ['10.2.0.2', '10.3.0.2'],
    nodes: ['10.2.0.1', '10.3.0.1'],
    bits: 24,
    address: 'ipv4_addr',
    daddr: 'ip daddr',
    saddr: 'ip saddr',
  },
  ip6: {
    service: 'fd96::1',
    client: 'fd01::2/64',
    nodeToClient: 'fd01::1/64',
    backends: ['fd02::2', 'fd03::2'],
    nodes: ['fd02::1', 'fd03::1'],
    bits: 64,
    address: 'ipv6_addr',
    daddr: 'ip6 daddr',
    saddr: 'ip6 saddr',
  },
} as const;
type FamilyName = keyof typeof FAMILIES;

describeWith({ root: true, tools: ['ip'] }, 'packets', () => {
  const namespaces = netNsPerTest();
  const servers: ChildProcess[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.kill('SIGKILL');
  });

  /** A TCP server that says its name to whoever connects. */
  async function serve(ns: TestNetNs, name: string): Promise<void> {
    const program = `require('net').createServer((s) => s.end('${name}')).listen(8080, '::', () => console.log('up'))`;
    const server = spawn('nsenter', [`--net=${ns.path}`, process.execPath, '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    servers.push(server);
    await once(server.stdout, 'data');
  }

  /** Which backends answer so many connections to the service. */
  async function ask(client: TestNetNs, host: string, times: number): Promise<string[]> {
    const program = `(async () => { for (let i = 0; i < ${times}; i++) await new Promise((done, fail) =>
      require('net').connect(80, '${host}').setTimeout(3000, () => fail(new Error('no answer')))
        .on('data', (d) => console.log(String(d))).on('close', done).on('error', fail)); })()`;
    const answers = await client.run(process.execPath, '-e', program);
    return answers.trim().split('\n');
  }

  /** A veth pair between two namespaces, with addresses, up. */
  async function join(
    a: TestNetNs,
    aAddress: string,
    b: TestNetNs,
    bAddress: string,
    name: string,
  ): Promise<void> {
    await a.run('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', name, 'netns', b.name);
    for (const [ns, address] of [
      [a, aAddress],
      [b, bAddress],
    ] as const) {
      await ns.run('ip', 'address', 'add', address, 'dev', name, ...(address.includes(':') ? ['nodad'] : []));
      await ns.run('ip', 'link', 'set', name, 'up');
    }
  }

  async function cluster(family: FamilyName): Promise<{ client: TestNetNs; node: TestNetNs }> {
    const f = FAMILIES[family];
    const [client, node] = [await namespaces.make(), await namespaces.make()];
    await node.run('sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
    await join(client, f.client, node, f.nodeToClient, 'client');
    const via = (address: string) => address.split('/')[0] ?? '';
    await client.run('ip', 'route', 'add', 'default', 'via', via(f.nodeToClient));
    for (const [index, backend] of f.backends.entries()) {
      const ns = await namespaces.make();
      await join(ns, `${backend}/${f.bits}`, node, `${f.nodes[index]}/${f.bits}`, `backend${index}`);
      await ns.run('ip', 'route', 'add', 'default', 'via', f.nodes[index] ?? '');
      await serve(ns, `backend${index}`);
    }
    return { client, node };
  }

  /** The service as a proxy would program it: one verdict map for all, a chain a service, a chain an endpoint. */
  function serviceRules(family: FamilyName, affinity: boolean): NftRequest[] {
    const f = FAMILIES[family];
    const t = { family: 'inet', table: 'proxy' } as const;
    const services = { ...t, type: [f.address, 'inet_proto', 'inet_service'], mapType: ['verdict'] } as const;
    const numbers = { ...t, type: ['integer'], mapType: ['verdict'] } as const;
    const chain = (name: string): NftRequest => ({ do: 'add', kind: 'chain', ...t, name });
    const rule = (name: string, ...parts: x.Part[]): NftRequest => ({
      do: 'add',
      kind: 'rule',
      ...t,
      chain: name,
      expressions: x.rule(...parts),
    });
    const endpoints = f.backends.map((address, index) => ({
      name: `endpoint-${index}`,
      set: `affinity-${index}`,
      address,
    }));
    return [
      { do: 'add', kind: 'table', family: 'inet', name: 'proxy' },
      { do: 'add', kind: 'chain', ...t, name: 'prerouting', type: 'nat', hook: 'prerouting', priority: -100 },
      ...['service', ...endpoints.map(({ name }) => name)].map(chain),
      { do: 'add', kind: 'set', ...services, name: 'services' },
      {
        do: 'add',
        kind: 'element',
        ...services,
        set: 'services',
        elements: [{ key: `${f.service} . tcp . 80`, verdict: 'goto service' }],
      },
      ...endpoints.map(
        ({ set }): NftRequest => ({
          do: 'add',
          kind: 'set',
          ...t,
          name: set,
          type: [f.address],
          flags: ['dynamic', 'timeout'],
          size: 100,
        }),
      ),
      rule('prerouting', x.nfproto(family), x.vmapLookup('services', f.daddr, 'meta l4proto', 'th dport')),
      ...(affinity
        ? endpoints.map(({ name, set }) => rule('service', x.inSet(set, f.saddr), x.goTo(name)))
        : []),
      { do: 'add', kind: 'set', ...numbers, name: '__map%d', id: 1, flags: ['anonymous', 'constant'] },
      {
        do: 'add',
        kind: 'element',
        ...numbers,
        set: '__map%d',
        setId: 1,
        elements: endpoints.map(({ name }, index) => ({
          key: String(index),
          verdict: `goto ${name}` as const,
        })),
      },
      rule('service', x.numgenVmap(endpoints.length, { set: '__map%d', setId: 1 }, 'inc')),
      ...endpoints.flatMap(({ name, set, address }) => [
        ...(affinity ? [rule(name, x.updateSet(set, [f.saddr], { timeoutMs: 60_000 }))] : []),
        rule(name, x.counter, x.l4proto('tcp'), x.dnatTo(address, 8080)),
      ]),
    ];
  }

  test.each(['ip', 'ip6'] as const)(
    'a service address reaches one backend after the other (%s)',
    async (family) => {
      const { client, node } = await cluster(family);
      const nft = namespaces.closing(await openNft(node.path));
      await nft.commit(serviceRules(family, false));
      const answers = await ask(client, FAMILIES[family].service, 6);
      expect(answers.filter((name) => name === 'backend0')).toHaveLength(3);
      expect(answers.filter((name) => name === 'backend1')).toHaveLength(3);
      const counters = (await nft.rules()).flatMap(({ expressions }) =>
        expressions.flatMap((one) => ('counter' in one ? one.counter.packets : [])),
      );
      expect(counters).toEqual([3, 3]);
    },
  );

  test.each(['ip', 'ip6'] as const)('session affinity keeps a client at its backend (%s)', async (family) => {
    const { client, node } = await cluster(family);
    const nft = namespaces.closing(await openNft(node.path));
    await nft.commit(serviceRules(family, true));
    const answers = await ask(client, FAMILIES[family].service, 5);
    expect(new Set(answers).size).toBe(1);
    const set = answers[0] === 'backend0' ? 'affinity-0' : 'affinity-1';
    const [remembered] = await nft.elements({ family: 'inet', table: 'proxy', set });
    expect(remembered).toMatchObject({ key: FAMILIES[family].client.split('/')[0], timeoutMs: 60_000 });
  });
});
