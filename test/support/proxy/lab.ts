// A node with a bridge and two pods, and a host outside, each a namespace of its own, for packets through a proxy mode.
// Guarantees: servers and namespaces are gone when the test ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach } from 'vitest';
import type { ProxyState, ServicePort } from '../../../proxy-modes/mode.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { netNsPerTest, type TestNetNs } from '../netns.js';
import { servicePort, stateOf } from './port.js';

export interface Lab {
  readonly node: TestNetNs;
  readonly pods: readonly TestNetNs[];
  readonly outside: TestNetNs;
}

export const NODE = '192.168.77.1';
export const CLUSTER_IP = '10.96.0.10';
export const POD_CIDR = '10.244.0.0/16';

/** To be called once in a test file. */
export function proxyLab() {
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

  /** The wiring alone. */
  async function bare(): Promise<Lab> {
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
    return { node, pods: [a, b], outside };
  }

  /** With servers "one" and "two" in the pods. */
  async function lab(): Promise<Lab> {
    const place = await bare();
    await Promise.all(place.pods.map((pod, n) => serve(pod, n === 0 ? 'one' : 'two')));
    return place;
  }

  return { lab, bare, serve, closing: namespaces.closing };
}

export const get = (from: TestNetNs, to: string) =>
  from.run('busybox', 'timeout', '3', 'busybox', 'wget', '-q', '-O', '-', `http://${to}/`);

/** The state with one service on node port 30080, served by these addresses on port 8080. */
export function web(addresses: readonly string[], more: Partial<ServicePort> = {}): ProxyState {
  const endpoints = addresses.map((ip) => ({ ip, port: 8080, local: true }));
  const port = servicePort(10, {
    clusterIp: CLUSTER_IP,
    nodePort: 30080,
    endpoints,
    localEndpoints: endpoints,
    served: addresses.length > 0,
    ...more,
  });
  return stateOf(port);
}

/** Answers seen in enough tries to meet both of two endpoints (it misses one with probability 2^-29). */
export async function answers(from: TestNetNs, to: string): Promise<string[]> {
  const seen = new Set<string>();
  for (let attempt = 0; attempt < 30 && seen.size < 2; attempt++) seen.add(await get(from, to));
  return [...seen].sort();
}
