// 1,000 veth pairs into 1,000 namespaces, enslaved to a bridge, addressed and routed: what a node does for its pods.
// Against `ip -batch` (one for the host, one for each namespace) and the npm package netlink, which cannot open a socket
// in another namespace and so needs a process in each: that comparison is made with fewer.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openRoute } from '../../src/kernel/route/adapter.js';
import type { Request } from '../../src/kernel/route/port.js';
import { type Contestant, compare } from '../lib/compare.js';
import type { Figure } from '../lib/figure.js';
import { benchNetNs, nameOf, removeNetNs, runTool } from '../lib/tool.js';

const COUNT = 1000;
const NETLINK_COUNT = 40;
/** Namespaces worked on at a time; the kernel's rtnl lock lets one through anyway. */
const AT_ONCE = 4;

interface Node {
  host: string;
  pods: string[];
}

const podAddress = (i: number) => `10.1.${i >> 8}.${i & 255}`;

async function makeNode(count: number): Promise<Node> {
  const host = await benchNetNs();
  const pods: string[] = [];
  for (let i = 0; i < count; i++) pods.push(await benchNetNs());
  const route = await openRoute(host);
  await route.apply([
    { do: 'add', kind: 'link', name: 'br0', type: 'bridge', mac: '02:00:00:00:00:01', up: true },
    { do: 'add', kind: 'address', dev: 'br0', address: '10.1.255.254/16' },
  ]);
  route.close();
  return { host, pods };
}

async function removeNode({ host, pods }: Node): Promise<void> {
  for (const path of [...pods, host]) await removeNetNs(path);
}

async function oursRun({ host, pods }: Node): Promise<void> {
  const route = await openRoute(host);
  await route.apply(
    pods.map(
      (netns, i): Request => ({
        do: 'add',
        kind: 'link',
        name: `veth${i}`,
        master: 'br0',
        up: true,
        peer: { name: 'eth0', netns },
      }),
    ),
  );
  route.close();
  const queue = pods.entries();
  const worker = async () => {
    for (const [i, netns] of queue) {
      const pod = await openRoute(netns);
      await pod.apply([
        { do: 'change', kind: 'link', name: 'eth0', up: true },
        { do: 'add', kind: 'address', dev: 'eth0', address: `${podAddress(i)}/16` },
        { do: 'add', kind: 'route', destination: '0.0.0.0/0', gateway: '10.1.255.254' },
      ]);
      pod.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function ipRun({ host, pods }: Node): Promise<void> {
  const links = pods.map(
    (netns, i) => `link add veth${i} master br0 up type veth peer name eth0 netns ${nameOf(netns)}\n`,
  );
  await runTool(['ip', '-batch', '-'], { netns: host, input: links.join('') });
  // One shell for all, so that the tool is not charged for being started from Node.
  const steps = pods.map(
    (netns, i) =>
      `ip -n ${nameOf(netns)} -batch - <<E\nlink set eth0 up\naddr add ${podAddress(i)}/16 dev eth0\nroute add default via 10.1.255.254\nE\n`,
  );
  await runTool(['sh', '-e'], { input: steps.join('') });
}

const here = dirname(fileURLToPath(import.meta.url));

/** The peer's program stands beside this file once built. */
function netlinkPeer(): string {
  const path = join(here, 'netlinkPeer.js');
  if (!existsSync(path)) throw new Error('run the benchmark from dist/: npm run bench');
  return path;
}

async function netlinkRun({ host, pods }: Node): Promise<void> {
  const peer = netlinkPeer();
  await runTool([process.execPath, peer, 'host', ...pods], { netns: host });
  for (const [i, netns] of pods.entries())
    await runTool([process.execPath, peer, 'pod', podAddress(i), '10.1.255.254'], { netns });
}

const contestant = (name: string, run: (node: Node) => Promise<void>, count = COUNT): Contestant<Node> => ({
  name,
  prepare: () => makeNode(count),
  run,
  clean: removeNode,
});

export async function veth(): Promise<Figure[]> {
  const name = `${COUNT} veth pairs into ${COUNT} namespaces`;
  return [
    await compare({
      name,
      samples: 2,
      atMost: 1.2,
      ours: contestant('ours', oursRun),
      peer: contestant('ip -batch', ipRun),
    }),
    await compare({
      name: `${NETLINK_COUNT} veth pairs into ${NETLINK_COUNT} namespaces`,
      samples: 2,
      atMost: 1 / 3,
      ours: contestant('ours', oursRun, NETLINK_COUNT),
      peer: contestant('npm netlink', netlinkRun, NETLINK_COUNT),
    }),
  ];
}
