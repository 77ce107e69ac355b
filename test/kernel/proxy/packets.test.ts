// Packets through the modes that this kernel has, in namespaces.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { iptablesMode } from '../../../proxy-modes/iptables/mode.js';
import type { ProxyMode, TrafficOptions } from '../../../proxy-modes/mode.js';
import { NftablesMode } from '../../../proxy-modes/nftables/mode.js';
import { openIptables } from '../../../src/kernel/iptables/adapter.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import type { TestNetNs } from '../../support/netns.js';
import { answers, CLUSTER_IP, get, NODE, POD_CIDR, proxyLab, web } from '../../support/proxy/lab.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const { lab, bare, serve, closing } = proxyLab();
const traffic = { ip: { local: { by: 'cidr', cidr: POD_CIDR } } } as const;

interface ModeUnderTest {
  readonly name: string;
  readonly tools: readonly string[];
  open(node: TestNetNs): Promise<ProxyMode>;
  /** Everything the kernel holds, as the mode's own tool prints it. */
  rules(node: TestNetNs): Promise<string>;
}

const openNftables = async (node: TestNetNs) =>
  new NftablesMode({
    nft: closing(await openNft(node.path)),
    table: 'trellis-proxy',
    families: ['ip'],
    traffic,
  });

const openIptablesMode = async (
  node: TestNetNs,
  backend: 'nft' | 'legacy',
  more: Partial<TrafficOptions> = {},
) => {
  const ip = await openIptables({ family: 'inet', backend, netns: node.path });
  return iptablesMode({
    ports: { ip },
    traffic: { ip: { ...traffic.ip, ...more } },
    ...(backend === 'nft' ? { nft: closing(await openNft(node.path)) } : {}),
  });
};

const MODES: readonly ModeUnderTest[] = [
  {
    name: 'nftables',
    tools: ['nft'],
    open: openNftables,
    rules: (node) => node.run('nft', 'list', 'ruleset'),
  },
  ...(['nft', 'legacy'] as const).map((backend) => ({
    name: `iptables (${backend})`,
    tools: [`iptables-${backend}-restore`],
    open: (node: TestNetNs) => openIptablesMode(node, backend),
    rules: (node: TestNetNs) => node.run(`iptables-${backend}-save`),
  })),
];

for (const { name, tools, open, rules } of MODES) {
  const start = async () => {
    const place = await lab();
    return { ...place, mode: await open(place.node) };
  };
  describeWith(
    { root: true, tools: ['busybox', 'nsenter', ...tools] },
    `packets through the ${name} mode`,
    () => {
      test('reach every endpoint from the node, from pods and from outside', async () => {
        const { node, pods, outside, mode } = await start();
        await mode.sync(web(['10.244.0.2', '10.244.0.3']));
        for (const pod of pods) expect(await answers(pod, CLUSTER_IP)).toEqual(['one', 'two']);
        expect(await answers(node, CLUSTER_IP)).toEqual(['one', 'two']);
        expect(await answers(outside, `${NODE}:30080`)).toEqual(['one', 'two']);
        expect(await answers(node, `${NODE}:30080`)).toEqual(['one', 'two']);
      });

      test('let a pod reach itself', async () => {
        const { pods, mode } = await start();
        await mode.sync(web(['10.244.0.2']));
        for (const pod of pods) expect(await get(pod, CLUSTER_IP)).toBe('one');
      });

      test('follow a change, are refused without endpoints, and go nowhere once the service is gone', async () => {
        const { node, pods, outside, mode } = await start();
        await mode.sync(web(['10.244.0.2']));
        expect(await get(node, CLUSTER_IP)).toBe('one');
        await mode.sync(web(['10.244.0.3']));
        expect(await get(node, CLUSTER_IP)).toBe('two');
        await mode.sync(web([]));
        for (const from of [node, ...pods]) await expect(get(from, CLUSTER_IP)).rejects.toThrow(/refused/);
        await expect(get(outside, `${NODE}:30080`)).rejects.toThrow(/refused/);
        await mode.sync(new Map());
        expect(await rules(node)).not.toContain('default/s10');
        await mode.cleanUp();
        expect(await rules(node)).not.toMatch(/trellis|KUBE/);
      });

      test('keep the client address with policy Local', async () => {
        const { outside, mode, node } = await start();
        await mode.sync(web(['10.244.0.2'], { externalLocal: true }));
        expect(await get(outside, `${NODE}:30080`)).toBe('one');
        const flows = await node.run('conntrack', '-L', '-p', 'tcp', '--dport', '30080');
        expect(flows).toMatch(/src=10\.244\.0\.2 dst=192\.168\.77\.2/);
      });

      test('stay with one endpoint where the service asks for it, and move when it is gone', async () => {
        const { outside, mode, node } = await start();
        const both = ['10.244.0.2', '10.244.0.3'];
        await mode.sync(web(both, { affinitySeconds: 60 }));
        const first = await get(outside, `${NODE}:30080`);
        for (let i = 0; i < 10; i++) expect(await get(outside, `${NODE}:30080`)).toBe(first);
        const left = first === 'one' ? both.slice(1) : both.slice(0, 1);
        await mode.sync(web(left, { affinitySeconds: 60 }));
        const second = first === 'one' ? 'two' : 'one';
        expect(await get(outside, `${NODE}:30080`)).toBe(second);
        await mode.sync(web(both, { affinitySeconds: 60 }));
        for (let i = 0; i < 10; i++) expect(await get(outside, `${NODE}:30080`)).toBe(second);
        // Everything is written anew, by the same process and by its successor. Whoever forgot the client would choose for
        // it each time, and be right every other time.
        for (let i = 0; i < 8; i++) {
          mode.forget();
          await mode.sync(web(both, { affinitySeconds: 60 }));
          expect(await get(outside, `${NODE}:30080`)).toBe(second);
          const successor = await open(node);
          await successor.sync(web(both, { affinitySeconds: 60 }));
          successor.close();
          expect(await get(outside, `${NODE}:30080`)).toBe(second);
        }
      });

      test('to external and load balancer addresses pass by the source ranges', async () => {
        const { outside, mode } = await start();
        const more = { externalIps: ['192.0.2.9'], loadBalancerIps: ['198.51.100.9'] };
        await mode.sync(web(['10.244.0.2'], { ...more, sourceRanges: ['192.168.77.0/24'] }));
        expect(await get(outside, '192.0.2.9')).toBe('one');
        expect(await get(outside, '198.51.100.9')).toBe('one');
        await mode.sync(web(['10.244.0.2'], { ...more, sourceRanges: ['192.168.78.0/24'] }));
        expect(await get(outside, '192.0.2.9')).toBe('one');
        await expect(get(outside, '198.51.100.9')).rejects.toThrow();
      });

      test('are served again after somebody flushed the rules', async () => {
        const { node, mode } = await start();
        await mode.sync(web(['10.244.0.2']));
        expect(await mode.check?.()).toBe(true);
        const drifted = new Promise<void>((resolve) => void mode.watch?.(resolve));
        const isTold = name !== 'iptables (legacy)';
        // The echo of our own write is over.
        await new Promise((resolve) => setTimeout(resolve, 400));
        if (name === 'nftables') await node.run('nft', 'flush', 'ruleset');
        else await node.run(`${tools[0]?.replace('-restore', '')}`, '-t', 'nat', '-F');
        if (isTold) await drifted;
        expect(await mode.check?.()).toBe(false);
        mode.forget();
        await mode.sync(web(['10.244.0.3']));
        expect(await get(node, CLUSTER_IP)).toBe('two');
      });
    },
  );
}

describeWith(
  { root: true, tools: ['busybox', 'nsenter', 'iptables-nft-restore', 'iptables-legacy-restore'] },
  'node ports on loopback',
  () => {
    test.each(['nft', 'legacy'] as const)(
      'are there in the iptables mode (%s) if asked for',
      async (backend) => {
        const { node, outside } = await lab();
        for (const place of [node, outside])
          await place.run('sh', '-c', 'echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet');
        await serve(node, 'private');
        await outside.run('ip', 'route', 'add', '127.0.0.2/32', 'via', NODE, 'dev', 'eth0');
        await outside.run('ip', 'route', 'del', 'local', '127.0.0.0/8', 'dev', 'lo', 'table', 'local');
        const state = web(['10.244.0.2']);
        const without = await openIptablesMode(node, backend);
        await without.sync(state);
        await expect(get(node, '127.0.0.1:30080')).rejects.toThrow(/refused/);
        expect(await get(outside, '127.0.0.2:8080')).toBe('private');
        without.close();
        const mode = await openIptablesMode(node, backend, { localhostNodePorts: true });
        await mode.sync(state);
        expect(await get(node, '127.0.0.1:30080')).toBe('one');
        // A neighbour on the network does not reach what listens on loopback.
        await expect(get(outside, '127.0.0.2:8080')).rejects.toThrow();
        expect(await get(node, '127.0.0.2:8080')).toBe('private');
        mode.close();
      },
    );
  },
);

describeWith(
  { root: true, tools: ['nsenter', 'iptables-nft-restore', 'iptables-legacy-restore'] },
  'what others replace in the iptables mode',
  () => {
    test.each(['nft', 'legacy'] as const)('is found by a check (%s)', async (backend) => {
      const { node } = await bare();
      const mode = await openIptablesMode(node, backend);
      const state = web(['10.244.0.2', '10.244.0.3'], { affinitySeconds: 60, externalIps: ['192.0.2.9'] });
      await mode.sync(state);
      expect(await mode.check?.()).toBe(true);
      for (const chain of ['KUBE-MARK-MASQ', 'KUBE-SERVICES']) {
        await node.run(`iptables-${backend}`, '-t', 'nat', '-R', chain, '1', '-j', 'RETURN');
        expect(await mode.check?.()).toBe(false);
        mode.forget();
        await mode.sync(state);
        expect(await mode.check?.()).toBe(true);
      }
      mode.close();
    });
  },
);

describeWith({ root: true, tools: ['nft', 'nsenter'] }, 'what others replace in the nftables mode', () => {
  const table = ['ip', 'trellis-proxy'];

  test.each([
    ['an element', ['service-ips', '{ 10.96.0.10 . tcp . 80 }'], '{ 10.96.0.10 . tcp . 80 : drop }'],
    [
      'an endpoint',
      ['service-endpoints', '{ 10.96.0.10 . tcp . 80 . 0x00000000 }'],
      '{ 10.96.0.10 . tcp . 80 . 0x00000000 : 10.244.0.9 . 8080 }',
    ],
  ])('is found by a check: %s', async (_, [set = '', old = ''], other) => {
    const { node } = await bare();
    const mode = await openNftables(node);
    await mode.sync(web(['10.244.0.2']));
    expect(await mode.check?.()).toBe(true);
    await node.run('nft', 'delete', 'element', ...table, set, old);
    await node.run('nft', 'add', 'element', ...table, set, other);
    expect(await mode.check?.()).toBe(false);
    mode.forget();
    await mode.sync(web(['10.244.0.2']));
    expect(await mode.check?.()).toBe(true);
  });

  test('is told: a rule', async () => {
    const { node } = await bare();
    const mode = await openNftables(node);
    let drifts = 0;
    mode.watch?.(() => {
      drifts += 1;
    });
    await mode.sync(web(['10.244.0.2']));
    const listed = await node.run('nft', '-a', 'list', 'chain', ...table, 'mark-for-masquerade');
    const handle = /mark set.*# handle (\d+)/.exec(listed)?.[1] ?? '';
    await node.run('nft', 'replace', 'rule', ...table, 'mark-for-masquerade', 'handle', handle, 'return');
    await until(() => expect(drifts).toBe(1));
  });
});

describeWith({ root: true, tools: ['nft', 'nsenter'] }, 'session affinity', () => {
  test('costs the kernel next to nothing before clients come', async () => {
    const { node } = await bare();
    const endpoints = Array.from({ length: 300 }, (_, n) => endpoint(`10.244.${8 + (n >> 8)}.${n & 255}`));
    const before = kernelMemoryKb();
    await (await openNftables(node)).sync(stateOf(servicePort(1, { affinitySeconds: 60, endpoints })));
    // Two megabytes for each would be 600.
    expect(kernelMemoryKb() - before).toBeLessThan(200_000);
  });
});

const kernelMemoryKb = () =>
  Number(/^SUnreclaim:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? Number.NaN);
