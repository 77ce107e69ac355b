// Where the comparison runs: a node and a pod that serves, each a namespace, joined by a pair of devices.
// Guarantees: all but the node's namespace is gone after close.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openRoute } from '../../src/kernel/route/adapter.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';

export const POD_IP = '10.244.0.2';
export const PORTS = [8080, 8081] as const;

export interface TestNetwork {
  /** Connects `count` times, one after the other, and tells how long each took, in microseconds. */
  connect(address: string, count: number): Promise<number[]>;
  /** New connections a second, `width` at a time. */
  rate(address: string, count: number, width: number): Promise<number>;
  /** Small requests a second over `width` connections that stay. */
  requests(address: string, count: number, width: number): Promise<number>;
  close(): Promise<void>;
}

/** Connections of a client whose code is not compiled yet: they tell of the client. */
const WARM_UP = 50;

const SERVER = `
const net = require('node:net');
for (const port of [${PORTS.join()}]) net.createServer((socket) => { socket.on('error', () => {}).pipe(socket); }).listen(port, '0.0.0.0', 1024);
console.log('ready');
`;

/** Works off \`count\` connections, \`width\` at a time, each with one request if asked; or requests over \`width\` that stay. */
const CLIENT = `
const net = require('node:net');
const [address, what] = process.argv.slice(1);
const [count, width] = process.argv.slice(3).map(Number);
const times = [];
let begun = 0;
const micros = (since) => Number(process.hrtime.bigint() - since) / 1000;
const open = () => new Promise((resolve, reject) => {
  const socket = net.connect(80, address, () => resolve(socket));
  socket.setTimeout(10000, () => socket.destroy(new Error('timeout'))).on('error', reject);
});
const connect = async () => {
  while (begun++ < count) {
    const start = process.hrtime.bigint();
    const socket = await open();
    times.push(micros(start));
    await new Promise((resolve) => { socket.on('close', resolve).resume().end(); });
  }
};
const request = async () => {
  const socket = await open();
  while (begun++ < count) await new Promise((resolve) => { socket.once('data', resolve).write('x'); });
  socket.destroy();
};
const start = process.hrtime.bigint();
const work = what === 'requests' ? request : connect;
Promise.all(Array.from({ length: width }, work)).then(() => console.log(JSON.stringify({ times, total: micros(start) })), (error) => { console.error(String(error)); process.exit(1); });
`;

/** Around the node's namespace, which stays the caller's. */
export async function openTestNetwork(node: string): Promise<TestNetwork> {
  const pod = await benchNetNs();
  await wire(node, pod);
  const server = await serve(pod);
  const run = async (what: 'connections' | 'requests', address: string, count: number, width: number) =>
    JSON.parse(
      await runTool([process.execPath, '-e', CLIENT, address, what, String(count), String(width)], {
        netns: node,
      }),
    ) as {
      times: number[];
      total: number;
    };
  return {
    connect: async (address, count) =>
      (await run('connections', address, count + WARM_UP, 1)).times.slice(WARM_UP),
    rate: async (address, count, width) =>
      (1e6 * count) / (await run('connections', address, count, width)).total,
    requests: async (address, count, width) =>
      (1e6 * count) / (await run('requests', address, count, width)).total,
    async close() {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
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
