// What a packet pays for policies: two pods joined by a node that has none, ours, or those of the peer.
// Guarantees: the same pair of pods and the same programs for all; all nodes are there at once, two of each kind, and measured in
// turns, slice by slice, so that they meet the same machine; namespaces are gone afterwards.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { openNft } from '../../src/kernel/nftables/adapter.js';
import { PolicyPlanner } from '../../src/network/policy/planner.js';
import { FAMILIES } from '../../src/network/policy/table.js';
import { benchNetNs, nameOf, removeNetNs, runTool } from '../lib/tool.js';
import { iptablesOf, namespaceOf, type Workload } from './workload.js';

/** Neighbours in the workload: the first's policies let the second in on port 80. */
const [SERVER, CLIENT] = ['10.244.0.0', '10.244.0.20'];
/** Of so many slices of a round the least disturbed one counts: what else the machine does only adds. */
const SLICES = 30;
/** A slice is short, so that some are not disturbed even on a busy machine. */
const CONNECTIONS = 50;
const MEGABYTES = 20;

const SERVE = `use IO::Socket::INET; $| = 1; $SIG{CHLD} = 'IGNORE';
my $s = IO::Socket::INET->new(LocalPort => 80, Listen => 1000, ReuseAddr => 1) or die $!; print "up\\n";
while (my $c = $s->accept) { sysread $c, my $w, 1; if ($w eq 'b') { if (!fork) { 1 while sysread $c, my $x, 1 << 20; syswrite $c, 'e'; exit } } close $c }`;
/** Measures one slice for each line that it reads. */
const ASK = `use Socket; use Time::HiRes qw(time clock); $| = 1; my $a = pack_sockaddr_in(80, inet_aton('${SERVER}'));
sub opened { socket my $s, PF_INET, SOCK_STREAM, 6; connect $s, $a or die $!; return $s }
my $x = 'x' x (1 << 20);
while (<STDIN>) { my ($t, $c) = (time, clock);
if (/connect/) { close opened() for 1 .. ${CONNECTIONS} }
else { my $s = opened(); syswrite $s, 'b'; syswrite $s, $x for 1 .. ${MEGABYTES}; shutdown $s, 1; sysread $s, my $e, 1 }
print time - $t, " ", clock - $c, "\\n" }`;

export interface Traffic {
  readonly connectUs: number;
  readonly gigabyteMs: number;
  /** Processor time of the sender, which also forwards what it sends: the machine's other work is not in it. */
  readonly connectCpuUs: number;
  readonly gigabyteCpuMs: number;
  /** The gigabyte on the slower of two equal nodes over that on the faster: what is less than this is nothing. */
  readonly twins: number;
}

type Rules = (node: string) => Promise<void>;

export const ours =
  ({ pods, policies }: Workload): Rules =>
  async (node) => {
    const planner = new PolicyPlanner('trellis-bench');
    planner.setPodRanges(['10.244.0.0/16']);
    planner.setNamespace(namespaceOf(0), {});
    for (const pod of pods) planner.setPod(pod);
    for (const policy of policies) planner.setPolicy(policy);
    const nft = await openNft(node);
    await nft.commit(FAMILIES.flatMap((family) => planner.images[family].whole()));
    nft.close();
  };

export const peers =
  (work: Workload): Rules =>
  async (node) => {
    const { ipset, filter } = iptablesOf(work);
    await runTool(['ipset', 'restore'], { netns: node, input: ipset });
    await runTool(['iptables-legacy-restore'], { netns: node, input: filter });
  };

/** Tracks connections as a node's proxy does, and decides nothing. */
export const none: Rules = async (node) => {
  const rule = ['-A', 'FORWARD', '-m', 'conntrack', '--ctstate', 'ESTABLISHED', '-j', 'ACCEPT'];
  await runTool(['iptables-legacy', ...rule], { netns: node });
};

/** So many rounds, each of all nodes in turns; answers the rounds of each kind: of two equal nodes the less disturbed one. */
export async function measureTraffic(rules: readonly Rules[], rounds: number): Promise<Traffic[][]> {
  const nodes: Node[] = [];
  try {
    for (const some of rules) nodes.push(await openNode(some), await openNode(some));
    const results = rules.map((): Traffic[] => []);
    // The round before warms caches; it does not count.
    for (let round = 0; round <= rounds; round++) {
      const connect = await leastOf(nodes, 'connect');
      const stream = await leastOf(nodes, 'stream');
      if (round === 0) continue;
      for (const [i, result] of results.entries()) {
        const pair = (of: readonly Slice[], key: keyof Slice) =>
          of.slice(2 * i, 2 * i + 2).map((one) => one[key]);
        const least = (of: readonly Slice[], key: keyof Slice) => Math.min(...pair(of, key)) * 1e6;
        result.push({
          connectUs: least(connect, 'time') / CONNECTIONS,
          gigabyteMs: least(stream, 'time') / MEGABYTES,
          connectCpuUs: least(connect, 'cpu') / CONNECTIONS,
          gigabyteCpuMs: least(stream, 'cpu') / MEGABYTES,
          twins: Math.max(...pair(stream, 'time')) / Math.min(...pair(stream, 'time')),
        });
      }
    }
    return results;
  } finally {
    for (const node of nodes) await node.close();
  }
}

async function leastOf(nodes: readonly Node[], what: 'connect' | 'stream'): Promise<Slice[]> {
  const least = nodes.map((): Slice => ({ time: Number.POSITIVE_INFINITY, cpu: Number.POSITIVE_INFINITY }));
  for (let slice = 0; slice < SLICES; slice++) {
    // Who begins changes from slice to slice.
    for (let turn = 0; turn < nodes.length; turn++) {
      const i = (slice + turn) % nodes.length;
      const [node, best] = [nodes[i], least[i]];
      if (node === undefined || best === undefined) continue;
      const { time, cpu } = await node.slice(what);
      least[i] = { time: Math.min(best.time, time), cpu: Math.min(best.cpu, cpu) };
    }
  }
  return least;
}

/** In seconds. */
interface Slice {
  readonly time: number;
  readonly cpu: number;
}

interface Node {
  slice(what: 'connect' | 'stream'): Promise<Slice>;
  close(): Promise<void>;
}

async function openNode(rules: Rules): Promise<Node> {
  const [node, server, client] = await Promise.all([benchNetNs(), benchNetNs(), benchNetNs()]);
  const children: ChildProcess[] = [];
  const close = async () => {
    for (const child of children) child.kill('SIGKILL');
    for (const ns of [client, server, node]) await removeNetNs(ns);
  };
  const perl = (ns: string, script: string) => {
    const child = spawn('nsenter', [`--net=${ns}`, 'perl', '-e', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    return child;
  };
  try {
    await once(perl(server, SERVE).stdout, 'data');
    await runTool(['sh', '-e', '-c', wires(server, client)], { netns: node });
    await rules(node);
    const asking = perl(client, ASK);
    const lines = createInterface({ input: asking.stdout })[Symbol.asyncIterator]();
    const slice = async (what: string) => {
      asking.stdin.write(`${what}\n`);
      const [time = Number.NaN, cpu = Number.NaN] = String((await lines.next()).value)
        .split(' ')
        .map(Number);
      return { time, cpu };
    };
    return { slice, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function wires(server: string, client: string): string {
  const steps = [SERVER, CLIENT].flatMap((ip, i) => {
    const pod = nameOf(i === 0 ? server : client);
    const port = `veth${i}`;
    return [
      `ip link add ${port} type veth peer name eth0 netns ${pod}`,
      `ip link set ${port} up`,
      `ip -n ${pod} link set eth0 up`,
      `ip -n ${pod} addr add ${ip}/32 dev eth0`,
      `ip -n ${pod} route add 169.254.1.1 dev eth0`,
      `ip -n ${pod} route add default via 169.254.1.1`,
      `ip addr add 169.254.1.1/32 dev ${port}`,
      `ip route add ${ip}/32 dev ${port}`,
    ];
  });
  return ['echo 1 > /proc/sys/net/ipv4/ip_forward', 'ip link set lo up', ...steps].join('\n');
}
