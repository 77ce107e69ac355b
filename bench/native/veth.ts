// 1,000 veth pairs into 1,000 namespaces and a bridge, then addresses and routes inside: what a node does for its pods.
// Guarantees: every peer has its best form: one process and one batch where it can, and none is charged for Node's start.
import { once } from 'node:events';
import { openRoute } from '../../src/kernel/route/adapter.js';
import type { Request } from '../../src/kernel/route/port.js';
import { type Contestant, compare } from '../lib/compare.js';
import type { Figure } from '../lib/figure.js';
import { nameOf, runTool } from '../lib/tool.js';
import { type PeerProcess, startNetlinkPeer } from './netlinkProcess.js';
import { GATEWAY, makeNode, type Node, podAddress, removeNode } from './vethNode.js';

const COUNT = 1000;
const RUNS = 3;
/** Namespaces worked on at a time, by either side; the kernel's rtnl lock lets one through anyway. */
const AT_ONCE = 4;

const linkTo = (netns: string, i: number): Request => ({
  do: 'add',
  kind: 'link',
  name: `veth${i}`,
  master: 'br0',
  up: true,
  peer: { name: 'eth0', netns },
});

async function addLinks({ host, pods }: Node): Promise<void> {
  const route = await openRoute(host);
  await route.apply(pods.map(linkTo));
  route.close();
}

async function addWholePods(node: Node): Promise<void> {
  await addLinks(node);
  await atOnce(node.pods, async (netns, i) => {
    const pod = await openRoute(netns);
    await pod.apply([
      { do: 'change', kind: 'link', name: 'eth0', up: true },
      { do: 'add', kind: 'address', dev: 'eth0', address: `${podAddress(i)}/16` },
      { do: 'add', kind: 'route', destination: '0.0.0.0/0', gateway: GATEWAY },
    ]);
    pod.close();
  });
}

async function atOnce(pods: readonly string[], work: (netns: string, i: number) => Promise<void>) {
  const queue = pods.entries();
  const worker = async () => {
    for (const [i, netns] of queue) await work(netns, i);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function ipLinks({ host, pods }: Node): Promise<void> {
  const links = pods.map(
    (netns, i) => `link add veth${i} master br0 up type veth peer name eth0 netns ${nameOf(netns)}\n`,
  );
  await runTool(['ip', '-batch', '-'], { netns: host, input: links.join('') });
}

/** A batch cannot change its namespace, so each pod needs a process. Shells start them: Node would cost more. */
async function ipWholePods(node: Node): Promise<void> {
  await ipLinks(node);
  const steps = node.pods.map(
    (netns, i) =>
      `ip -n ${nameOf(netns)} -batch - <<E\nlink set eth0 up\naddr add ${podAddress(i)}/16 dev eth0\nroute add default via ${GATEWAY}\nE\n`,
  );
  const shares = Array.from({ length: AT_ONCE }, (_, n) => steps.filter((_, i) => i % AT_ONCE === n));
  await Promise.all(shares.map((share) => runTool(['sh', '-e'], { input: share.join('') })));
}

const contestant = (name: string, run: (node: Node) => Promise<void>): Contestant<Node> => ({
  name,
  prepare: () => makeNode(COUNT),
  run,
  clean: removeNode,
});

/** The npm package in one process, started before the clock, with many requests on their way at a time. */
const netlinkLinks: Contestant<Node & { peer: PeerProcess }> = {
  name: 'npm netlink, one process',
  async prepare() {
    const node = await makeNode(COUNT);
    return { ...node, peer: await startNetlinkPeer(node) };
  },
  async run({ peer }) {
    peer.stdin.write('go\n');
    const [said] = (await once(peer.stdout, 'data')) as [Buffer];
    if (said.toString() !== 'done\n') throw new Error(`the peer said ${said}`);
  },
  async clean({ peer, ...node }) {
    peer.kill();
    await removeNode(node);
  },
};

export async function veth(): Promise<Figure[]> {
  const links = `${COUNT.toLocaleString('en')} veth pairs into ${COUNT.toLocaleString('en')} namespaces, in a bridge and up`;
  const common = { runs: RUNS, atMost: 1.2 };
  return [
    await compare({
      ...common,
      name: `${links}: one batch`,
      ours: contestant('ours', addLinks),
      peer: contestant('ip -batch, one process', ipLinks),
    }),
    await compare({
      ...common,
      name: `${links}: one batch`,
      atMost: 1,
      ours: contestant('ours', addLinks),
      peer: netlinkLinks,
    }),
    await compare({
      ...common,
      name: `the same, then address and route inside each, ${AT_ONCE} at a time`,
      ours: contestant('ours', addWholePods),
      peer: contestant(`ip -batch, a process per namespace`, ipWholePods),
    }),
  ];
}
