// What one user of a cluster can make its node's agent hold: logs, exec, port-forward, statistics and DNS.
// usage: node agentInside.js DATA-DIR      prints one JSON object: megabytes at the worst moment of each attack, and in the end
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { readKubeconfig, transportOf } from '../../src/client/kubeconfig.js';
import { BUSYBOX_IMAGE } from '../../src/cluster/images/builtin.js';
import { layoutOf } from '../../src/cluster/layout.js';
import { readState } from '../../src/cluster/state.js';
import { SpdyClient } from '../../src/kubelet/server/streams/spdy.js';
import { residentMb } from '../lib/process.js';

export interface AgentMeasured {
  readonly worst: Readonly<Record<string, number>>;
  readonly left: number;
}

const DNS = '10.96.0.10';
const HELD_MS = 5000;
const LINE = '0123456789'.repeat(10);
const SCRIPT = [
  `yes ${LINE} | head -c 8000000`,
  `head -c 1000000 /dev/zero | tr '\\0' x`,
  'mkdir /www',
  'dd if=/dev/zero of=/www/big bs=1048576 count=60',
  'echo ready',
  'exec httpd -f -p 8080 -h /www',
].join('; ');

type Json = Record<string, unknown>;

const [dataDir = '', waitS = '300'] = [process.argv[2], process.env['TRELLIS_HOSTILE_WAIT_S']];
const layout = layoutOf(realpathSync(dataDir));
const pid = (await readState(layout)).components['agent']?.pid ?? 0;
const admin = await transportOf(layout.adminKubeconfig);
const { server, ca } = await readKubeconfig(layout.adminKubeconfig);
const address = new URL(server);

async function ask(method: 'GET' | 'POST', path: string, body?: Json): Promise<Json> {
  const headers = { 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await admin.request({ method, path, headers, ...sent });
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body) pieces.push(piece);
  const text = Buffer.concat(pieces).toString();
  if (response.status >= 300) throw new Error(`${path} was answered with ${response.status}: ${text}`);
  return JSON.parse(text) as Json;
}

/** A service account that may edit the namespace and look at statistics, and its token. */
async function makeUser(): Promise<string> {
  const rbac = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'ServiceAccount', name: 'attacker', namespace: 'default' }];
  const roleRef = (name: string) => ({ apiGroup: rbac, kind: 'ClusterRole', name });
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await ask('POST', accounts, { metadata: { name: 'attacker' } });
  const rules = [
    { apiGroups: [''], resources: ['nodes/proxy', 'nodes/stats', 'nodes/metrics'], verbs: ['get'] },
  ];
  await ask('POST', `/apis/${rbac}/v1/clusterroles`, { metadata: { name: 'attacker' }, rules });
  await ask('POST', `/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name: 'attacker' },
    roleRef: roleRef('attacker'),
    subjects,
  });
  await ask('POST', `/apis/${rbac}/v1/namespaces/default/rolebindings`, {
    metadata: { name: 'attacker' },
    roleRef: roleRef('edit'),
    subjects,
  });
  const { status } = await ask('POST', `${accounts}/attacker/token`, { spec: { expirationSeconds: 3600 } });
  return (status as { readonly token: string }).token;
}

async function startPod(): Promise<string> {
  const containers = [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', SCRIPT] }];
  await ask('POST', '/api/v1/namespaces/default/pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'talk' },
    spec: { terminationGracePeriodSeconds: 0, containers },
  });
  for (;;) {
    const { spec, status } = (await ask('GET', '/api/v1/namespaces/default/pods/talk')) as {
      readonly spec: { readonly nodeName: string };
      readonly status: { readonly phase: string };
    };
    if (status.phase === 'Running') return spec.nodeName;
    await sleep(200);
  }
}

const open: { destroy(): void }[] = [];

/** Asks on a connection of its own, and reads no more than the status of the answer: an attack that is refused is none. */
async function send(token: string, request: string, headers: readonly string[] = []): Promise<Duplex> {
  const socket = connect({
    host: address.hostname,
    port: Number(address.port),
    ...(ca === undefined ? {} : { ca }),
  });
  socket.on('error', () => {});
  open.push(socket);
  await once(socket, 'secureConnect');
  socket.pause();
  const lines = [`${request} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${token}`, ...headers];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const wanted = headers.length === 0 ? 'HTTP/1.1 200' : 'HTTP/1.1 101';
  let status: Buffer | null = null;
  while (status === null) {
    await once(socket, 'readable');
    status = socket.read(wanted.length) as Buffer | null;
  }
  if (String(status) !== wanted) throw new Error(`${request} was answered with ${status}`);
  return socket;
}

const WEB_SOCKET = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  'Sec-WebSocket-Protocol: v5.channel.k8s.io',
];
const SPDY = [
  'Connection: Upgrade',
  'Upgrade: SPDY/3.1',
  'X-Stream-Protocol-Version: portforward.k8s.io',
  'Content-Length: 0',
];

const times = async (count: number, work: (index: number) => Promise<unknown>) => {
  for (let i = 0; i < count; i += 1) await work(i);
};

/** Of a WebSocket: masked with zeros. */
function frame(size: number): Buffer {
  const bytes = Buffer.alloc(14 + size);
  bytes[0] = 0x82;
  bytes[1] = 0xff;
  bytes.writeBigUInt64BE(BigInt(size), 2);
  return bytes;
}

/** As much as the other side takes, of that many bytes. */
function flood(socket: Duplex, chunk: Buffer, count: number): void {
  let left = count;
  const more = () => {
    while (left > 0 && !socket.destroyed) {
      left -= 1;
      if (!socket.write(chunk)) return void socket.once('drain', more);
    }
  };
  more();
}

async function forward(token: string): Promise<void> {
  const socket = await send(token, 'POST /api/v1/namespaces/default/pods/talk/portforward', SPDY);
  const spdy = new SpdyClient(socket);
  const headers = { port: '8080', requestid: '0' };
  spdy.open({ streamtype: 'error', ...headers });
  const data = spdy.open({ streamtype: 'data', ...headers });
  spdy.send(data, Buffer.from('GET /big HTTP/1.0\r\n\r\n'));
}

/** A question for an address of a name of its own. */
function question(index: number): Buffer {
  const labels = [`q${index}`, 'hostile', 'example'];
  const name = labels.map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  const head = Buffer.from([(index >> 8) & 255, index & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([head, ...name, Buffer.from([0, 0, 1, 0, 1])]);
}

async function askByUdp(count: number): Promise<void> {
  const socket = createSocket('udp4');
  open.push({ destroy: () => socket.close() });
  for (let i = 0; i < count; i += 1) {
    socket.send(question(i), 53, DNS);
    if (i % 200 === 0) await sleep(5);
  }
}

async function askByTcp(): Promise<void> {
  const socket = connectTcp({ host: DNS, port: 53 });
  socket.on('error', () => {});
  open.push(socket);
  await once(socket, 'connect');
  socket.pause();
  const questions = Array.from({ length: 2000 }, (_, i) => {
    const one = question(i);
    return Buffer.concat([Buffer.of(one.length >> 8, one.length & 255), one]);
  });
  flood(socket, Buffer.concat(questions), 10);
}

const token = await makeUser();
const node = await startPod();
const pod = '/api/v1/namespaces/default/pods/talk';
const ATTACKS: Readonly<Record<string, () => Promise<unknown>>> = {
  '120 logs of 8 MB never read': () =>
    times(120, (i) => send(token, `GET ${pod}/log?${['', 'follow=true', 'tailLines=70000'][i % 3]}`)),
  '60 execs whose output is never read': () =>
    times(60, () => send(token, `GET ${pod}/exec?command=yes&stdout=1`, WEB_SOCKET)),
  '60 execs that do not read their input, 64 MB for each': () =>
    times(60, async () => {
      const socket = await send(token, `GET ${pod}/exec?command=sleep&command=600&stdin=1`, WEB_SOCKET);
      flood(socket, frame(8_000_000), 8);
    }),
  '60 forwarded ports whose 60 MB are never read': () => times(60, () => forward(token)),
  '200 statistics never read': () =>
    times(200, (i) =>
      send(token, `GET /api/v1/nodes/${node}/proxy/${['stats/summary', 'metrics/cadvisor'][i % 2]}`),
    ),
  '50,000 questions by UDP': () => askByUdp(50_000),
  '100 connections of 20,000 questions by TCP, answers never read': () => times(100, askByTcp),
};

await sleep(HELD_MS);
const start = residentMb(pid);
const worst: Record<string, number> = {};
for (const [name, attack] of Object.entries(ATTACKS)) {
  let most = 0;
  const before = residentMb(pid);
  const looking = setInterval(() => {
    most = Math.max(most, residentMb(pid) - before);
  }, 100);
  await attack();
  await sleep(HELD_MS);
  clearInterval(looking);
  const held = residentMb(pid) - before;
  for (const one of open.splice(0)) one.destroy();
  worst[name] = most;
  process.stderr.write(`  ${name}: at worst ${Math.round(most)} MB, then ${Math.round(held)} MB\n`);
}
await sleep(Number(waitS) * 1000);
const measured: AgentMeasured = { worst, left: residentMb(pid) - start };
console.log(JSON.stringify(measured));
process.exit(0);
