// What a packet pays for policies: two pods joined by a node that has none, ours, or those of the peer.
// Guarantees: the same pair of pods and the same programs for all; namespaces are gone afterwards.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openNft } from '../../src/kernel/nftables/adapter.js';
import { PolicyPlanner } from '../../src/network/policy/planner.js';
import { FAMILIES } from '../../src/network/policy/table.js';
import { benchNetNs, nameOf, removeNetNs, runTool } from '../lib/tool.js';
import { iptablesOf, namespaceOf, type Workload } from './workload.js';

/** Neighbours in the workload: the first's policies let the second in on port 80. */
const [SERVER, CLIENT] = ['10.244.0.0', '10.244.0.20'];
/** Of so many slices the least disturbed one counts: what else the machine does only adds. */
const SLICES = 12;
const CONNECTIONS = 200;
const MEGABYTES = 100;

const SERVE = `use IO::Socket::INET; $| = 1; $SIG{CHLD} = 'IGNORE';
my $s = IO::Socket::INET->new(LocalPort => 80, Listen => 1000, ReuseAddr => 1) or die $!; print "up\\n";
while (my $c = $s->accept) { sysread $c, my $w, 1; if ($w eq 'b') { if (!fork) { 1 while sysread $c, my $x, 1 << 20; syswrite $c, 'e'; exit } } close $c }`;
const BEGIN = `use Socket; use Time::HiRes 'time'; my $a = pack_sockaddr_in(80, inet_aton('${SERVER}')); my $best = 1e9;
sub opened { socket my $s, PF_INET, SOCK_STREAM, 6; connect $s, $a or die $!; return $s }
for (1 .. ${SLICES}) { my $t = time;`;
const END = '$t = time - $t; $best = $t if $t < $best } print $best';
const CONNECT = `${BEGIN} close opened() for 1 .. ${CONNECTIONS}; ${END}`;
const STREAM = `my $x = 'x' x (1 << 20); ${BEGIN} my $s = opened(); syswrite $s, 'b';
syswrite $s, $x for 1 .. ${MEGABYTES}; shutdown $s, 1; sysread $s, my $e, 1; ${END}`;

interface Traffic {
  readonly connectUs: number;
  readonly gigabyteMs: number;
}

export type Rules = (node: string) => Promise<void>;

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

export async function measureTraffic(rules: Rules): Promise<Traffic> {
  const [node, server, client] = await Promise.all([benchNetNs(), benchNetNs(), benchNetNs()]);
  const serving = spawn('nsenter', [`--net=${server}`, 'perl', '-e', SERVE], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(serving.stdout, 'data');
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
    const script = [
      'echo 1 > /proc/sys/net/ipv4/ip_forward',

      'ip link set lo up',
      ...steps,
    ];
    await runTool(['sh', '-e', '-c', script.join('\n')], { netns: node });
    await rules(node);
    const seconds = async (text: string) => Number(await runTool(['perl', '-e', text], { netns: client }));
    return {
      connectUs: ((await seconds(CONNECT)) * 1e6) / CONNECTIONS,
      gigabyteMs: ((await seconds(STREAM)) * 1e6) / MEGABYTES,
    };
  } finally {
    serving.kill('SIGKILL');
    for (const ns of [client, server, node]) await removeNetNs(ns);
  }
}
