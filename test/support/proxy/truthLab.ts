// The machine that the semantic cases speak of, for real: a node, a client pod, an endpoint on it and one on another node,
// and a host outside, each a namespace of its own, with clients and servers that tell what arrived.
// Guarantees: processes and namespaces are gone when the test ends, also when it fails.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach } from 'vitest';
import { netNsPerTest, type TestNetNs } from '../netns.js';
import { NODE_IP, NODE_IP6 } from './packet.js';

export interface Question {
  readonly protocol: 'tcp' | 'udp';
  /** None: the kernel's choice. */
  readonly source?: string;
  readonly destination: string;
  readonly port: number;
  /** How long no answer is taken for an answer that may yet come. */
  readonly patienceMs: number;
}

/** Who answered and which source it saw; or that the question was refused; or that nothing came back. */
export type Answer = { readonly by: string; readonly source: string } | 'refused' | 'silence';

export type Asker = 'pod' | 'node' | 'outside' | 'here';

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
  socket.on('error', ({ code }) => resolve(code === 'ECONNREFUSED' ? 'refused' : 'silence'));
});
const udp = ({ source, destination, port, patienceMs }) => new Promise((resolve) => {
  const socket = dgram.createSocket(destination.includes(':') ? 'udp6' : 'udp4');
  const end = (answer) => { clearTimeout(timer); resolve(answer); socket.close(); };
  const timer = setTimeout(() => end('silence'), patienceMs);
  socket.on('message', (text) => end(told(text))).on('error', ({ code }) => end(code === 'ECONNREFUSED' ? 'refused' : 'silence'));
  socket.bind({ ...(source ? { address: source } : {}) }, () => socket.connect(port, destination, () => socket.send('?')));
});
const questions = JSON.parse(process.argv[1]);
Promise.all(questions.map((question) => (question.protocol === 'tcp' ? tcp : udp)(question)))
  .then((answers) => { console.log(JSON.stringify(answers)); process.exit(); });
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
for device in veth1 veth2 veth3; do
  ip addr add 10.244.0.254/32 dev $device
  ip -6 addr add fd00:244::fe/128 dev $device nodad
  ip link set $device up
done
for place in "10.244.0.77 veth1" "172.16.0.9 veth1" "10.244.0.1 veth2" "10.244.1.1 veth3"; do
  ip route add \${place% *}/32 dev \${place#* }
done
for place in "fd00:244::77 veth1" "fd00:244::1 veth2"; do ip -6 route add \${place% *}/128 dev \${place#* }; done
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
for address in fd00:1::2/64 2001:db8::5/128; do ip -6 addr add $address dev eth0 nodad; done
ip link set eth0 up
for network in 10.96.0.0/16 192.0.2.0/24 198.51.100.0/24 192.168.0.9/32; do ip route add $network via ${NODE_IP}; done
ip -6 route add fd00:96::/64 via ${NODE_IP6}
`;

/** Every path is taken as it is: sources need not be where the way back is. */
const LOOSE = 'for file in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $file; done';

export interface TruthLab {
  readonly node: TestNetNs;
  ask(from: Asker, questions: readonly Question[]): Promise<Answer[]>;
}

/** To be called once in a test file. */
export function truthLab() {
  const namespaces = netNsPerTest();
  const servers: ChildProcess[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
    }
  });

  async function serve(ns: TestNetNs, ...addresses: readonly string[]): Promise<void> {
    const argv = [`--net=${ns.path}`, process.execPath, '-e', SERVER, ...addresses];
    const child = spawn('nsenter', argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    servers.push(child);
    await once(child.stdout, 'data');
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
    await serve(here, '10.244.0.1', 'fd00:244::1');
    await serve(there, '10.244.1.1');
    const askers: Readonly<Record<Asker, TestNetNs>> = { pod, node, outside, here };
    return {
      node,
      ask: async (from, questions) =>
        JSON.parse(
          await askers[from].run(process.execPath, '-e', CLIENT, JSON.stringify(questions)),
        ) as Answer[],
    };
  }

  return { open, closing: namespaces.closing };
}
