// The machine that the semantic cases speak of, for real: a node, a client pod, an endpoint on it and one on another node,
// and a host outside, each a namespace of its own, with clients and servers that tell what arrived.
// Guarantees: processes and namespaces are gone when the test ends, also when it fails.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { PerFamily, Protocol, ProxyMode, TrafficOptions } from '../../../proxy-modes/mode.js';
import type { IptablesBackend } from '../../../src/kernel/iptables/port.js';
import { childProcesses } from '../childProcesses.js';
import { netNsPerTest, type TestNetNs } from '../netns.js';
import { NODE_IP, NODE_IP6 } from './packet.js';

export interface Question {
  readonly protocol: Protocol;
  /** None: the kernel's choice. */
  readonly source?: string;
  /** Of UDP: questions from the same port are of the same flow. */
  readonly sourcePort?: number;
  readonly destination: string;
  readonly port: number;
  /** How long no answer is taken for an answer that may yet come. */
  readonly patienceMs: number;
}

/** Who answered and which source it saw; or that the question was refused; or that nothing came back. */
export type Answer = { readonly by: string; readonly source: string } | 'refused' | 'silence';

export const ASKERS = ['pod', 'node', 'outside', 'here'] as const;
export type Asker = (typeof ASKERS)[number];

/** Node addresses by which a masqueraded packet may leave. */
export const NODE_ADDRESSES: ReadonlySet<string> = new Set([
  NODE_IP,
  NODE_IP6,
  '10.244.0.254',
  'fd00:244::fe',
]);

const SERVER = `
const [net, dgram] = [require('node:net'), require('node:dgram')];
const plain = (ip) => ip.replace(/^::ffff:/, '');
const own = process.argv.slice(1);
net.createServer((socket) => socket.on('error', () => {}).end(plain(socket.localAddress) + ' ' + plain(socket.remoteAddress)))
  .listen(8080, '::', () => {
    let bound = 0;
    for (const ip of own) {
      const socket = dgram.createSocket(ip.includes(':') ? 'udp6' : 'udp4');
      socket.on('message', (_, from) => socket.send(ip + ' ' + from.address, from.port, from.address));
      socket.bind(8080, ip, () => { if (++bound === own.length) console.log('ready'); });
    }
  });
`;

const CLIENT = `
const [net, dgram] = [require('node:net'), require('node:dgram')];
const told = (text) => { const [by, source] = String(text).split(' '); return { by, source }; };
const tcp = ({ source, destination, port, patienceMs }) => new Promise((resolve) => {
  let text = '';
  const socket = net.connect({ host: destination, port, ...(source ? { localAddress: source } : {}) });
  socket.setTimeout(patienceMs, () => { resolve('silence'); socket.destroy(); });
  socket.on('data', (chunk) => { text += chunk; }).on('end', () => resolve(told(text)));
  socket.on('error', ({ code }) => resolve(/^ECONN(REFUSED|RESET)$/.test(code) ? 'refused' : 'silence'));
});
const udp = ({ source, sourcePort, destination, port, patienceMs }) => new Promise((resolve) => {
  const socket = dgram.createSocket(destination.includes(':') ? 'udp6' : 'udp4');
  const end = (answer) => { clearTimeout(timer); clearInterval(again); resolve(answer); socket.close(); };
  const timer = setTimeout(() => end('silence'), patienceMs);
  let again;
  socket.on('message', (text) => end(told(text))).on('error', ({ code }) => end(code === 'ECONNREFUSED' ? 'refused' : 'silence'));
  socket.bind({ ...(source ? { address: source } : {}), port: sourcePort ?? 0 }, () => socket.connect(port, destination, () => {
    socket.send('?');
    again = setInterval(() => socket.send('?'), 400);
  }));
});
require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const questions = JSON.parse(line);
  console.log(JSON.stringify(await Promise.all(questions.map((one) => (one.protocol === 'tcp' ? tcp : udp)(one)))));
});
`;

const POD = (ip: string, six: string) => `
ip link set lo up
ip addr add ${ip}/32 dev eth0
ip -6 addr add ${six}/128 dev eth0 nodad
ip link set eth0 up
ip route add default via 10.244.0.254 dev eth0 onlink
ip -6 route add default via fd00:244::fe dev eth0 onlink
`;

const NODE = `
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
echo 0 > /proc/sys/net/ipv4/icmp_ratelimit # refusals are asked for by the dozen
echo 0 > /proc/sys/net/ipv6/icmp/ratelimit
for device in veth1 veth2 veth3; do
  ip addr add 10.244.0.254/32 dev $device
  ip -6 addr add fd00:244::fe/128 dev $device nodad
  ip link set $device up
done
for place in "10.244.0.77 veth1" "172.16.0.9 veth1" "10.244.0.1 veth2" "10.244.1.1 veth3"; do
  ip route add \${place% *}/32 dev \${place#* }
done
for place in "fd00:244::77 veth1" "fd00:244::1 veth2" "fd00:244:1::1 veth3"; do ip -6 route add \${place% *}/128 dev \${place#* }; done
ip link set lo up
ip addr add ${NODE_IP}/24 dev eth0
ip -6 addr add ${NODE_IP6}/64 dev eth0 nodad
ip link set eth0 up
ip route add default via 192.168.0.2
ip -6 route add default via fd00:1::2
`;

const OUTSIDE = `
ip link set lo up
for address in 192.168.0.2/24 203.0.113.5/32 203.0.114.1/32; do ip addr add $address dev eth0; done
for address in fd00:1::2/64 2001:db8::5/128 2001:db8:0:1::5/128; do ip -6 addr add $address dev eth0 nodad; done
ip link set eth0 up
for network in 10.96.0.0/16 192.0.2.0/24 198.51.100.0/24 192.168.0.9/32; do ip route add $network via ${NODE_IP}; done
for network in fd00:96::/64 2001:db8:1::/64 2001:db8:2::/64; do ip -6 route add $network via ${NODE_IP6}; done
`;

/** Every path is taken as it is: sources need not be where the way back is. */
const LOOSE = 'for file in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $file; done';

export interface TruthLab {
  readonly node: TestNetNs;
  /** The node itself answers on port 8080. */
  serveOnNode(): Promise<void>;
  /** Another machine, to which the node has a route, has the address and answers on port 8080 (TCP). */
  giveElsewhere(address: string): Promise<void>;
  /** A mode in a process of its own on the node, where its sockets must be. */
  modeOnNode(
    name: ProxyMode['name'],
    backend: IptablesBackend,
    traffic: PerFamily<TrafficOptions>,
  ): TalkingMode;
  ask(from: Asker, questions: readonly Question[]): Promise<Answer[]>;
}

/** SCTP by hand: most kernels have it in their connection tracking, few as sockets, and Node has none at all. */
const SCTP = path.join(import.meta.dirname, 'sctp.pl');

const sctpQuestion = ({ source = '', destination, port, patienceMs }: Question) =>
  [source, destination, port, patienceMs].join();
const sctpAnswers = (line: string) =>
  line.split(';').map((text): Answer => {
    const [by = '', source] = text.split(' ');
    if (source !== undefined) return { by, source };
    return by === 'refused' ? 'refused' : 'silence';
  });

type TalkingMode = Pick<ProxyMode, 'sync' | 'setServiceCidrs' | 'forget' | 'cleanUp' | 'close'> &
  Pick<Required<ProxyMode>, 'check'>;
const MODE = path.join(import.meta.dirname, 'modeProcess.mjs');

interface Talker {
  /** One line in, one line out. */
  say(line: string): Promise<string>;
  end(): void;
}

/** Those that leave packets to the kernel, with the back ends of each. */
export const KERNEL_MODES = [
  ['nftables', 'nft'],
  ['iptables', 'nft'],
  ['iptables', 'legacy'],
] as const;

/** To be called once in a test file. */
export function truthLab() {
  const namespaces = netNsPerTest();
  const children = childProcesses();

  const start = (ns: TestNetNs, ...command: readonly string[]) => {
    const argv = [`--net=${ns.path}`, ...command];
    const child = spawn('nsenter', argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${command[0]} ended without a word`);
      return value;
    };
    return { child, next };
  };
  const talker = (ns: TestNetNs, ...command: readonly string[]): Talker => {
    const { child, next } = start(ns, ...command);
    return {
      say: (line) => {
        child.stdin.write(`${line}\n`);
        return next();
      },
      end: () => void child.stdin.end(),
    };
  };
  async function serve(ns: TestNetNs, ...addresses: readonly string[]): Promise<void> {
    await Promise.all([
      start(ns, process.execPath, '-e', SERVER, ...addresses).next(),
      start(ns, 'perl', SCTP, 'serve', ...addresses).next(),
    ]);
  }

  async function open(): Promise<TruthLab> {
    const make = () => namespaces.make();
    const [node, pod, here, there, outside] = [
      await make(),
      await make(),
      await make(),
      await make(),
      await make(),
    ];
    const links: readonly [string, TestNetNs][] = [
      ['veth1', pod],
      ['veth2', here],
      ['veth3', there],
      ['eth0', outside],
    ];
    for (const [name, other] of links) {
      const peer = ['peer', 'name', 'eth0', 'netns', other.path];
      await node.run('ip', 'link', 'add', name, 'type', 'veth', ...peer);
    }
    await node.run('sh', '-e', '-c', `${NODE}${LOOSE}`);
    await pod.run(
      'sh',
      '-e',
      '-c',
      `${POD('10.244.0.77', 'fd00:244::77')}ip addr add 172.16.0.9/32 dev eth0`,
    );
    await here.run('sh', '-e', '-c', POD('10.244.0.1', 'fd00:244::1'));
    await there.run('sh', '-e', '-c', POD('10.244.1.1', 'fd00:244:1::1'));
    await outside.run('sh', '-e', '-c', `${OUTSIDE}${LOOSE}`);
    await Promise.all([
      serve(here, '10.244.0.1', 'fd00:244::1'),
      serve(there, '10.244.1.1', 'fd00:244:1::1'),
    ]);
    const askers = { pod, node, outside, here };
    const clients = new Map(ASKERS.map((name) => [name, clientsIn(askers[name])]));
    return {
      node,
      serveOnNode: () => serve(node, NODE_IP, NODE_IP6),
      giveElsewhere: async (address) => {
        await there.run('ip', 'addr', 'add', address, 'dev', 'eth0', 'nodad');
        await node.run('ip', 'route', 'add', address, 'dev', 'veth3');
      },
      modeOnNode: (name, backend, traffic) => talkingMode(node, { name, backend, traffic }),
      ask: (from, questions) => clients.get(from)?.(questions) ?? Promise.resolve([]),
    };
  }

  function talkingMode(
    ns: TestNetNs,
    { name, backend, traffic }: { name: string; backend: string; traffic: PerFamily<TrafficOptions> },
  ): TalkingMode {
    const { say, end } = talker(ns, process.execPath, MODE, name, backend);
    const tell = async (words: object) => void (await say(JSON.stringify(words)));
    return {
      sync: async (state) => {
        await tell({ traffic, state: [...state] });
        return { sent: 0 };
      },
      check: async () => (await say(JSON.stringify({ ask: 'check' }))) === 'true',
      setServiceCidrs: (of) => void tell({ ask: 'setServiceCidrs', of }),
      forget: () => void tell({ ask: 'forget' }),
      cleanUp: () => tell({}),
      close: end,
    };
  }

  /** Started when they are first needed. */
  function clientsIn(ns: TestNetNs) {
    let [own, sctp]: (Talker | undefined)[] = [];
    return async (questions: readonly Question[]): Promise<Answer[]> => {
      const isSctp = questions.map(({ protocol }) => protocol === 'sctp');
      const [byHand, others] = [true, false].map((side) => questions.filter((_, i) => isSctp[i] === side));
      const askAll = async (list: readonly Question[] = []) => {
        if (list.length === 0) return [];
        own ??= talker(ns, process.execPath, '-e', CLIENT);
        return JSON.parse(await own.say(JSON.stringify(list))) as Answer[];
      };
      const askByHand = async (list: readonly Question[] = []) => {
        if (list.length === 0) return [];
        sctp ??= talker(ns, 'perl', SCTP, 'ask');
        return sctpAnswers(await sctp.say(list.map(sctpQuestion).join(';')));
      };
      const [told, rest] = await Promise.all([askByHand(byHand), askAll(others)]);
      return isSctp.map((side) => (side ? told : rest).shift() ?? 'silence');
    };
  }

  return { open, closing: namespaces.closing };
}
