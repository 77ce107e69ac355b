// Where the comparison runs: a node and a pod that serves, each a namespace, joined by a pair of devices.
// Guarantees: everything is gone after close.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openRoute } from '../../src/kernel/route/adapter.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';

export const POD_IP = '10.244.0.2';
export const PORTS = [8080, 8081] as const;

export interface Place {
  readonly node: string;
  /** Connects `count` times, one after the other, and tells how long each took, in microseconds. */
  connect(address: string, count: number): Promise<number[]>;
  /** New connections a second, `width` at a time. */
  rate(address: string, count: number, width: number): Promise<number>;
  close(): Promise<void>;
}

const SERVER = `
const net = require('node:net');
for (const port of [${PORTS.join()}]) net.createServer((socket) => { socket.on('error', () => {}); socket.end('ok'); }).listen(port, '0.0.0.0', 1024);
console.log('ready');
`;

/** Works off \`count\` connections, \`width\` at a time; prints the microseconds of each and of all. */
const CLIENT = `
const net = require('node:net');
const [address, count, width] = [process.argv[1], Number(process.argv[2]), Number(process.argv[3])];
const times = [];
let begun = 0;
const next = () => {
  if (begun++ >= count) return Promise.resolve();
  const start = process.hrtime.bigint();
  return new Promise((resolve, reject) => {
    const socket = net.connect(80, address, () => { times.push(Number(process.hrtime.bigint() - start) / 1000); });
    socket.setTimeout(5000, () => socket.destroy(new Error('timeout'))).on('error', reject).on('close', resolve).resume();
  }).then(next);
};
const start = process.hrtime.bigint();
Promise.all(Array.from({ length: width }, next)).then(() => console.log(JSON.stringify({ times, total: Number(process.hrtime.bigint() - start) / 1000 })), (error) => { console.error(String(error)); process.exit(1); });
`;

export async function openPlace(): Promise<Place> {
  const [node, pod] = [await benchNetNs(), await benchNetNs()];
  await wire(node, pod);
  const server = await serve(pod);
  const run = async (address: string, count: number, width: number) =>
    JSON.parse(
      await runTool([process.execPath, '-e', CLIENT, address, String(count), String(width)], { netns: node }),
    ) as {
      times: number[];
      total: number;
    };
  return {
    node,
    connect: async (address, count) => (await run(address, count, 1)).times,
    rate: async (address, count, width) => (1e6 * count) / (await run(address, count, width)).total,
    async close() {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
      await removeNetNs(node);
      await removeNetNs(pod);
    },
  };
}

async function wire(node: string, pod: string): Promise<void> {
  const [outer, inner] = [await openRoute(node), await openRoute(pod)];
  await outer.apply([
    { do: 'change', kind: 'link', name: 'lo', up: true },
    { do: 'add', kind: 'link', name: 'pod0', type: 'veth', up: true, peer: { name: 'eth0', netns: pod } },
    { do: 'add', kind: 'address', dev: 'pod0', address: '10.244.0.1/24' },
  ]);
  await inner.apply([
    { do: 'change', kind: 'link', name: 'lo', up: true },
    { do: 'change', kind: 'link', name: 'eth0', up: true },
    { do: 'add', kind: 'address', dev: 'eth0', address: `${POD_IP}/24` },
    { do: 'add', kind: 'route', gateway: '10.244.0.1' },
  ]);
  // Routing comes before the rules: without a default route a service address is unreachable.
  await outer.apply([{ do: 'add', kind: 'route', gateway: POD_IP }]);
  outer.close();
  inner.close();
}

async function serve(pod: string): Promise<ChildProcess> {
  const child = spawn('nsenter', [`--net=${pod}`, process.execPath, '-e', SERVER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}
