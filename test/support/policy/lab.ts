// A node with pods on a bridge, and everything else (other nodes' pods, the world) behind one link: namespaces, and in each
// a program that sends first packets of connections and tells which arrive.
// Guarantees: a packet that arrives is reported; processes and namespaces are gone when the test ends, also when it fails.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach } from 'vitest';
import { netNsPerTest, type TestNetNs } from '../netns.js';
import { until } from '../until.js';

export interface Probe {
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly source: string;
  readonly destination: string;
  readonly port: number;
}

interface PolicyLab {
  readonly node: TestNetNs;
  /** Of local pods, by any of their addresses; anything else is behind the link. */
  placeOf(ip: string): TestNetNs;
  /** Sends each probe once; those that are `expected` again until they have arrived. Answers which have arrived. */
  send(probes: readonly Probe[], expected: (probe: Probe) => boolean): Promise<Set<Probe>>;
}

const PEER = path.join(import.meta.dirname, 'peer.pl');
const BARRIER_PORT = 9;
/** Each round of sends has ports of its own, so that a packet that comes late is seen for what it is. */
const FIRST_PORT = 20_000;
const LAST_PORT = 60_000;

const NODE_SCRIPT = `
[ -d /proc/sys/net/bridge ] || modprobe br_netfilter
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
ip link set lo up
ip link add cni0 address 02:00:00:00:00:01 type bridge
ip link set cni0 up
ip addr add 10.244.0.1/24 dev cni0
ip -6 addr add fd00:244::1/64 dev cni0 nodad
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables
echo 1 > /proc/sys/net/bridge/bridge-nf-call-ip6tables
ip link set eth0 up
ip addr add 192.168.0.1/24 dev eth0
ip -6 addr add fd00:1::1/64 dev eth0 nodad
ip route add default via 192.168.0.2
ip -6 route add default via fd00:1::2
for file in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $file; done
`;

const farScript = (addresses: readonly string[]) => `
ip link set lo up
ip link set eth0 up
ip addr add 192.168.0.2/24 dev eth0
ip -6 addr add fd00:1::2/64 dev eth0 nodad
ip route add 10.244.0.0/24 via 192.168.0.1
ip -6 route add fd00:244::/64 via fd00:1::1
${addresses.map((ip) => (ip.includes(':') ? `ip -6 addr add ${ip}/128 dev lo nodad` : `ip addr add ${ip}/32 dev lo`)).join('\n')}
`;

const podScript = (four: string, six: string) => `
ip link set lo up
ip link set eth0 up
ip addr add ${four}/24 dev eth0
ip -6 addr add ${six}/64 dev eth0 nodad
ip route add default via 10.244.0.1
ip -6 route add default via fd00:244::1
`;

interface Peer {
  write(line: string): void;
  /** Resolves when all that was written is sent. */
  done(): Promise<void>;
}

/** To be called once in a test file. */
export function policyLab() {
  const namespaces = netNsPerTest();
  const children: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of children.splice(0)) {
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await ended;
      }
    }
  });

  async function peer(ns: TestNetNs, got: (line: string) => void): Promise<Peer> {
    const child = spawn('nsenter', [`--net=${ns.path}`, 'perl', PEER], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    const waiting: (() => void)[] = [];
    const word = () => new Promise<void>((resolve) => waiting.push(resolve));
    const ready = word();
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('got ')) got(line.slice(4));
      else waiting.shift()?.();
    });
    await ready;
    return {
      write: (line) => void child.stdin.write(`${line}\n`),
      done: () => {
        const said = word();
        child.stdin.write('done\n');
        return said;
      },
    };
  }

  async function open(
    pods: readonly (readonly [string, string])[],
    far: readonly string[],
  ): Promise<PolicyLab> {
    const node = await namespaces.make();
    const beyond = await namespaces.make();
    await node.run('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', beyond.path);
    await node.run('sh', '-e', '-c', NODE_SCRIPT);
    await beyond.run('sh', '-e', '-c', farScript(far));
    const places = new Map<string, TestNetNs>();
    const arrived = new Set<string>();
    const got = (line: string) => void arrived.add(line);
    const peers = new Map<TestNetNs, Peer>([
      [beyond, await peer(beyond, got)],
      [node, await peer(node, () => {})],
    ]);
    for (const [index, [four, six]] of pods.entries()) {
      const ns = await namespaces.make();
      const name = `veth${index}`;
      await node.run('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', ns.path);
      await node.run('ip', 'link', 'set', name, 'master', 'cni0', 'up');
      await node.run('ip', 'link', 'set', name, 'type', 'bridge_slave', 'hairpin', 'on');
      await ns.run('sh', '-e', '-c', podScript(four, six));
      places.set(four, ns).set(six, ns);
      peers.set(ns, await peer(ns, got));
    }
    const placeOf = (ip: string) => places.get(ip) ?? beyond;
    let sourcePort = FIRST_PORT;
    /** What the node sends to each pod comes after what was sent to it before. */
    const barrier = async (mark: number) => {
      const marks = [...pods.flat(), ...far].map((ip) => {
        const from = ip.includes(':') ? ['fd00:1::1', 'fd00:244::1'] : ['192.168.0.1', '10.244.0.1'];
        return `udp ${from[places.has(ip) ? 1 : 0]} ${ip} ${mark} ${BARRIER_PORT}`;
      });
      await until(async () => {
        for (const line of marks) if (!arrived.has(line)) peers.get(node)?.write(line);
        await peers.get(node)?.done();
        if (!marks.every((line) => arrived.has(line)))
          throw new Error('some have not got what the node sent');
      });
    };
    return {
      node,
      placeOf,
      async send(probes, expected) {
        arrived.clear();
        const lines = new Map<Probe, string>();
        for (const probe of probes) {
          sourcePort = sourcePort >= LAST_PORT ? FIRST_PORT : sourcePort + 1;
          const { protocol, source, destination, port } = probe;
          lines.set(probe, `${protocol} ${source} ${destination} ${sourcePort} ${port}`);
        }
        const send = async (some: Iterable<Probe>) => {
          for (const probe of some) peers.get(placeOf(probe.source))?.write(lines.get(probe) ?? '');
          await Promise.all([...peers.values()].map((one) => one.done()));
        };
        const isMissing = (probe: Probe) => expected(probe) && !arrived.has(lines.get(probe) ?? '');
        await send(probes);
        await barrier(sourcePort);
        for (let tries = 0; tries < 5 && probes.some(isMissing); tries++) {
          await send(probes.filter(isMissing));
          await barrier(sourcePort);
        }
        return new Set(probes.filter((probe) => arrived.has(lines.get(probe) ?? '')));
      },
    };
  }
  return { open, closing: namespaces.closing };
}
