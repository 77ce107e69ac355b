// Packets through the nftables mode: a node with a bridge, two pods and a host outside, each a namespace of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { nftablesMode } from '../../../proxy-modes/nftables/mode.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import type { ProxyMode, ProxyState, ServicePort } from '../../../src/proxy/state.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { servicePort } from '../../support/proxy/port.js';
import { describeWith } from '../../support/requires.js';

const namespaces = netNsPerTest();
const servers: ChildProcess[] = [];
const directories: string[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
  }
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

interface Lab {
  readonly node: TestNetNs;
  readonly pods: readonly TestNetNs[];
  readonly outside: TestNetNs;
  readonly mode: ProxyMode;
}

const NODE = '192.168.77.1';
const CLUSTER_IP = '10.96.0.10';

async function attach(
  node: TestNetNs,
  other: TestNetNs,
  name: string,
  address: string,
  gateway: string,
): Promise<void> {
  const route = namespaces.closing(await openRoute(node.path));
  await route.apply([
    { do: 'add', kind: 'link', name, type: 'veth', up: true, peer: { name: 'eth0', netns: other.path } },
  ]);
  const inside = namespaces.closing(await openRoute(other.path));
  await inside.apply([
    { do: 'add', kind: 'address', dev: 'eth0', address },
    { do: 'change', kind: 'link', name: 'lo', up: true },
    { do: 'change', kind: 'link', name: 'eth0', up: true },
    { do: 'add', kind: 'route', gateway },
  ]);
}

/** A web server in the namespace that answers with a name of its own. */
async function serve(ns: TestNetNs, name: string): Promise<void> {
  const directory = mkdtempSync(path.join(tmpdir(), 'trellis-proxy-'));
  directories.push(directory);
  writeFileSync(path.join(directory, 'index.html'), name);
  servers.push(
    spawn('nsenter', [`--net=${ns.path}`, 'busybox', 'httpd', '-f', '-p', '8080', '-h', directory]),
  );
  for (let attempt = 0; attempt < 100; attempt++) {
    if (
      await get(ns, '127.0.0.1:8080').then(
        () => true,
        () => false,
      )
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the server of ${name} does not answer`);
}

const get = (from: TestNetNs, to: string) =>
  from.run('busybox', 'timeout', '3', 'busybox', 'wget', '-q', '-O', '-', `http://${to}/`);

async function lab(): Promise<Lab> {
  const [node, a, b, outside] = await Promise.all(Array.from({ length: 4 }, () => namespaces.make()));
  if (node === undefined || a === undefined || b === undefined || outside === undefined)
    throw new Error('no namespaces');
  const route = namespaces.closing(await openRoute(node.path));
  await route.apply([
    { do: 'change', kind: 'link', name: 'lo', up: true },
    { do: 'add', kind: 'link', name: 'br0', type: 'bridge', up: true, bridge: { nfCallIptables: true } },
    { do: 'add', kind: 'address', dev: 'br0', address: '10.244.0.1/24' },
  ]);
  await attach(node, a, 'pod1', '10.244.0.2/24', '10.244.0.1');
  await attach(node, b, 'pod2', '10.244.0.3/24', '10.244.0.1');
  await attach(node, outside, 'out', '192.168.77.2/24', NODE);
  await route.apply([
    ...['pod1', 'pod2'].map(
      (name) => ({ do: 'change', kind: 'link', name, master: 'br0', port: { hairpin: true } }) as const,
    ),
    { do: 'add', kind: 'address', dev: 'out', address: `${NODE}/24` },
    { do: 'add', kind: 'route', gateway: '192.168.77.2' },
  ]);
  await node.run('sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  await Promise.all([serve(a, 'one'), serve(b, 'two')]);
  const nft = namespaces.closing(await openNft(node.path));
  const mode = nftablesMode({
    nft,
    table: 'trellis-proxy',
    families: ['ip'],
    traffic: { ip: { local: { by: 'cidr', cidr: '10.244.0.0/16' } } },
  });
  return { node, pods: [a, b], outside, mode };
}

function web(addresses: readonly string[], more: Partial<ServicePort> = {}): ProxyState {
  const endpoints = addresses.map((ip) => ({ ip, port: 8080, local: true }));
  const port = servicePort(10, {
    clusterIp: CLUSTER_IP,
    nodePort: 30080,
    endpoints,
    localEndpoints: endpoints,
    served: addresses.length > 0,
    ...more,
  });
  return new Map([[port.key, port]]);
}

/** Answers seen in enough tries to meet both of two endpoints (it misses one with probability 2^-29). */
async function answers(from: TestNetNs, to: string): Promise<string[]> {
  const seen = new Set<string>();
  for (let attempt = 0; attempt < 30 && seen.size < 2; attempt++) seen.add(await get(from, to));
  return [...seen].sort();
}

describeWith({ root: true, tools: ['busybox', 'nsenter'] }, 'packets through the nftables mode', () => {
  it('reach every endpoint from the node, from pods and from outside', async () => {
    const { node, pods, outside, mode } = await lab();
    await mode.sync(web(['10.244.0.2', '10.244.0.3']));
    for (const pod of pods) expect(await answers(pod, CLUSTER_IP)).toEqual(['one', 'two']);
    expect(await answers(node, CLUSTER_IP)).toEqual(['one', 'two']);
    expect(await answers(outside, `${NODE}:30080`)).toEqual(['one', 'two']);
    expect(await answers(node, `${NODE}:30080`)).toEqual(['one', 'two']);
  });

  it('let a pod reach itself', async () => {
    const { pods, mode } = await lab();
    await mode.sync(web(['10.244.0.2']));
    for (const pod of pods) expect(await get(pod, CLUSTER_IP)).toBe('one');
  });

  it('follow a change, are refused without endpoints, and go nowhere once the service is gone', async () => {
    const { node, pods, outside, mode } = await lab();
    await mode.sync(web(['10.244.0.2']));
    expect(await get(node, CLUSTER_IP)).toBe('one');
    await mode.sync(web(['10.244.0.3']));
    expect(await get(node, CLUSTER_IP)).toBe('two');
    await mode.sync(web([]));
    for (const from of [node, ...pods]) await expect(get(from, CLUSTER_IP)).rejects.toThrow(/refused/);
    await expect(get(outside, `${NODE}:30080`)).rejects.toThrow(/refused/);
    await mode.sync(new Map());
    expect(await node.run('nft', 'list', 'table', 'ip', 'trellis-proxy')).not.toContain('default/s10');
    await mode.cleanUp();
    expect(await node.run('nft', 'list', 'ruleset')).toBe('');
  });

  it('keep the client address with policy Local', async () => {
    const { outside, mode, node } = await lab();
    await mode.sync(web(['10.244.0.2'], { externalLocal: true }));
    expect(await get(outside, `${NODE}:30080`)).toBe('one');
    const flows = await node.run('conntrack', '-L', '-p', 'tcp', '--dport', '30080');
    expect(flows).toMatch(/src=10\.244\.0\.2 dst=192\.168\.77\.2/);
  });

  it('stay with one endpoint where the service asks for it, and move when it is gone', async () => {
    const { outside, node, mode } = await lab();
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
    const sets = await node.run('nft', 'list', 'ruleset');
    expect(sets).toMatch(/elements = \{ 192\.168\.77\.2 (timeout|expires)/);
  });

  it('to external and load balancer addresses pass by the source ranges', async () => {
    const { outside, mode } = await lab();
    const more = { externalIps: ['192.0.2.9'], loadBalancerIps: ['198.51.100.9'] };
    await mode.sync(web(['10.244.0.2'], { ...more, sourceRanges: ['192.168.77.0/24'] }));
    expect(await get(outside, '192.0.2.9')).toBe('one');
    expect(await get(outside, '198.51.100.9')).toBe('one');
    await mode.sync(web(['10.244.0.2'], { ...more, sourceRanges: ['192.168.78.0/24'] }));
    expect(await get(outside, '192.0.2.9')).toBe('one');
    await expect(get(outside, '198.51.100.9')).rejects.toThrow();
  });

  it('find the rules again after somebody flushed them: the watch tells', async () => {
    const { node, mode } = await lab();
    const drifted = new Promise<void>((resolve) => void mode.watch?.(resolve));
    await mode.sync(web(['10.244.0.2']));
    await mode.sync(web(['10.244.0.3']));
    expect(await mode.check?.()).toBe(true);
    await node.run('nft', 'flush', 'ruleset');
    await drifted;
    expect(await mode.check?.()).toBe(false);
    mode.forget();
    await mode.sync(web(['10.244.0.3']));
    expect(await get(node, CLUSTER_IP)).toBe('two');
  });
});
