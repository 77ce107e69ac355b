// The kubelet's API over real TLS, with a runtime that answers from memory.
// Guarantees: strangers are refused everywhere; logs and streams reach the right container.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import type net from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PemPair } from '../../../../src/api/certificates/keyPair.js';
import { silentLog } from '../../../../src/api/log.js';
import { CriError } from '../../../../src/cri/error.js';
import type { Container, ExecRequest, RuntimeService } from '../../../../src/cri/runtime.js';
import { openHealthz } from '../../../../src/kubelet/server/healthz.js';
import { openReadOnly } from '../../../../src/kubelet/server/readOnly.js';
import { type KubeletServer, openKubeletServer } from '../../../../src/kubelet/server/server.js';
import { podWith } from '../../../support/kubelet/podparts.js';
import { makeTestPki, type TestPki } from '../../../support/testPki.js';

const LOG = '2026-01-01T00:00:01Z stdout F hello\n2026-01-01T00:00:02Z stdout F world\n';
const pod = podWith(
  { containers: [{ name: 'main' }, { name: 'young' }] },
  { status: { containerStatuses: [] } },
);
const { uid } = pod.metadata;

let pki: TestPki;
let server: KubeletServer;
let streaming: http.Server;
let admin: PemPair;
let guest: PemPair;
let stranger: PemPair;
let dir: string;
const asked: unknown[] = [];
const joined: net.Socket[] = [];

/** Echoes what it gets after the upgrade; refuses what ends in /no. */
function streamingServer(): http.Server {
  const made = http.createServer((_, response) => response.writeHead(400).end('upgrade, please'));
  made.on('upgrade', (request, socket, head) => {
    asked.push({ url: request.url, authorization: request.headers.authorization, method: request.method });
    joined.push(socket as net.Socket);
    socket.on('error', () => {});
    if (request.url?.endsWith('/no')) {
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nno such');
      return;
    }
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\nearly');
    if (head.length > 0) socket.write(head);
    socket.pipe(socket);
  });
  return made;
}

function fakeRuntime(base: string): RuntimeService {
  const container = {
    id: 'c1',
    podSandboxId: 's1',
    state: 'CONTAINER_RUNNING',
    createdAt: 2n,
    metadata: { name: 'main', attempt: 1 },
    image: { image: 'busybox' },
    labels: { 'io.kubernetes.pod.uid': uid, 'io.kubernetes.container.name': 'main' },
  } as unknown as Container;
  const url = (what: string) => async (request: unknown) => {
    asked.push(request);
    const refused = (request as ExecRequest).cmd?.[0] === 'no' ? '/no' : '';
    return `${base}/${what}${refused}`;
  };
  return {
    listContainers: async (filter?: { labels?: Record<string, string> }) =>
      Object.entries(filter?.labels ?? {}).every(([key, value]) => container.labels[key] === value)
        ? [container]
        : [],
    listPodSandbox: async () => [
      { id: 's1', state: 'SANDBOX_READY', metadata: { name: 'web', namespace: 'shop', uid } },
    ],
    containerStatus: async () => ({ state: 'CONTAINER_EXITED', logPath: path.join(dir, '0.log') }),
    execSync: async () => ({ stdout: Buffer.from('out'), stderr: Buffer.from(''), exitCode: 0 }),
    exec: url('exec'),
    checkpointContainer: async (id: string, location: string, timeout: number) => {
      asked.push({ id, location, timeout });
      if (timeout === 9) throw new CriError('CheckpointContainer', 'UNIMPLEMENTED', 'no criu here');
    },
    attach: url('attach'),
    portForward: (_: string, ports: readonly number[]) => url('forward')({ ports }),
  } as unknown as RuntimeService;
}

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'trellis-server-'));
  await writeFile(path.join(dir, '0.log'), LOG);
  pki = await makeTestPki();
  admin = await pki.client('admin', 'system:masters', 'ops');
  guest = await pki.client('guest');
  stranger = await (await makeTestPki()).client('admin', 'system:masters');
  streaming = streamingServer();
  await new Promise<void>((done) => streaming.listen(0, '127.0.0.1', done));
  server = await openKubeletServer({
    address: '127.0.0.1',
    port: 0,
    tls: { ...(await pki.server()), clientCa: pki.ca },
    access: {
      authenticate: async ({ certificate, bearer }) =>
        certificate ?? (bearer === 'good' ? { user: 'robot', groups: ['system:masters'] } : undefined),
      authorize: async ({ groups }) => groups.includes('system:masters'),
    },
    runtime: fakeRuntime(`http://127.0.0.1:${(streaming.address() as AddressInfo).port}`),
    checkpointsDir: path.join(dir, 'checkpoints'),
    pods: {
      list: () => [pod],
      get: (namespace, name) => (namespace === 'shop' && name === 'web' ? pod : undefined),
    },
    log: silentLog,
    others: (request, response) => {
      if (request.url !== '/metrics') return false;
      response.end('up 1');
      return true;
    },
  });
});
afterAll(async () => {
  await server.close();
  for (const socket of joined) socket.destroy();
  await new Promise((done) => streaming.close(done));
  await rm(dir, { recursive: true, force: true });
});

function get(url: string, who: Partial<PemPair> = admin, options: https.RequestOptions = {}) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const where = { host: '127.0.0.1', port: server.port, path: url, ca: pki.ca, agent: false as const };
    const request = https.request({ ...where, ...who, ...options }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (piece) => {
        body += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.on('error', reject);
    request.end();
  });
}

/** A connection after `POST url` with an upgrade. */
async function stream(url: string, who: Partial<PemPair> = admin) {
  const socket = tls.connect({ host: '127.0.0.1', port: server.port, ca: pki.ca, ...who });
  let seen = '';
  socket.setEncoding('utf8');
  socket.on('data', (piece) => {
    seen += piece;
  });
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.write(
    `POST ${url} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`,
  );
  const until = async (words: string) => {
    while (!seen.includes(words)) await new Promise((resolve) => socket.once('data', resolve));
    return seen;
  };
  return { socket, until, ended, seen: () => seen };
}

const paths = [
  '/healthz',
  '/pods',
  '/containerLogs/shop/web/main',
  '/exec/shop/web/main',
  '/metrics',
  '/nothing',
  '/%zz',
];

test.each(paths)('%s is closed to strangers', async (url) => {
  expect(await get(url, {})).toEqual({ status: 401, body: 'Unauthorized\n' });
  expect((await get(url, stranger)).status).toBe(401);
  expect((await get(url, {}, { headers: { authorization: 'Bearer bad' } })).status).toBe(401);
  const refused = await get(url, guest);
  expect(refused.status).toBe(403);
  expect(refused.body).toMatch(/^Forbidden \(user=guest, verb=get, resource=nodes, subresource\(s\)=\[/);
});

test('streams are closed to strangers', async () => {
  const nobody = await stream('/exec/shop/web/main?command=sh&output=1', {});
  await nobody.ended;
  expect(nobody.seen()).toMatch(/^HTTP\/1\.1 401 Unauthorized/);
  const other = await stream('/exec/shop/web/main?command=sh&output=1', guest);
  await other.ended;
  expect(other.seen()).toMatch(/^HTTP\/1\.1 403 Forbidden/);
});

test('a token opens as well as a certificate', async () => {
  expect((await get('/healthz', {}, { headers: { authorization: 'Bearer good' } })).body).toBe('ok');
});

test('pods, running pods, and what others answer', async () => {
  expect(JSON.parse((await get('/pods')).body)).toMatchObject({
    kind: 'PodList',
    items: [{ metadata: { uid } }],
  });
  expect(JSON.parse((await get('/runningpods/')).body)).toMatchObject({
    items: [{ metadata: { name: 'web' }, spec: { containers: [{ name: 'main', image: 'busybox' }] } }],
  });
  expect((await get('/metrics')).body).toBe('up 1');
  expect((await get('/nothing')).status).toBe(404);
  expect((await get('/run/shop/web/main?cmd=ls', admin, { method: 'POST' })).body).toBe('out');
  expect((await get('/run/shop/web/main?cmd=ls', admin)).status).toBe(405);
});

test.each([
  ['main', 200, 'hello\nworld\n'],
  ['main?tailLines=1', 200, 'world\n'],
  ['main?follow=true', 200, 'hello\nworld\n'],
  ['main?tailLines=-1', 422, 'tailLines: Invalid value: must be greater than or equal to 0\n'],
  ['main?previous=true', 400, 'previous terminated container "main" in pod "web" not found\n'],
  ['young', 400, 'container "young" in pod "web" is waiting to start: ContainerCreating\n'],
  ['none', 404, 'container "none" not found in pod "web"\n'],
])('logs of %s', async (rest, status, body) => {
  expect(await get(`/containerLogs/shop/web/${rest}`)).toEqual({ status, body });
});

test('logs of a pod that is not here', async () => {
  expect(await get('/containerLogs/shop/none/main')).toEqual({ status: 404, body: 'pod does not exist\n' });
});

test('exec: a command may be as long as the API server lets it be', async () => {
  const command = 'x'.repeat(500_000);
  asked.length = 0;
  const { socket, until } = await stream(`/exec/shop/web/main?command=${command}&output=1`);
  await until('early');
  expect(asked[0]).toMatchObject({ cmd: [command] });
  socket.destroy();
});

test('exec: the runtime is asked with what the query says, and bytes pass both ways', async () => {
  asked.length = 0;
  const { socket, until, ended } = await stream(
    '/exec/shop/web/main?command=sh&command=-c&input=1&output=1&error=1&tty=1',
  );
  const head = await until('early');
  expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\nUpgrade: SPDY\/3\.1/);
  expect(asked).toEqual([
    { containerId: 'c1', cmd: ['sh', '-c'], tty: true, stdin: true, stdout: true, stderr: false },
    { url: '/exec', authorization: undefined, method: 'POST' },
  ]);
  socket.write('ping');
  expect((await until('ping')).split('\r\n\r\n')[1]).toBe('earlyping');
  // The far side ends when ours does, and then so does this one.
  socket.end();
  await ended;
});

test.each([
  [`/exec/shop/web/${uid}/main?command=x&stdout=true`, { cmd: ['x'], stdout: true, stdin: false }],
  ['/attach/shop/web/main?stdin=true&stdout=true', { stdin: true, stdout: true, tty: false }],
  ['/portForward/shop/web?port=80&port=81', { ports: [80, 81] }],
])('%s', async (url, want) => {
  asked.length = 0;
  const { socket, until, ended } = await stream(url);
  await until('early');
  expect(asked[0]).toMatchObject(want);
  socket.destroy();
  await ended;
});

test.each([
  ['/exec/shop/web/main?command=no&output=1', 404, 'no such'],
  ['/exec/shop/web/main?command=x', 400, 'at least 1 of stdin, stdout, stderr'],
  ['/exec/shop/web/main?output=1', 400, 'at least 1 command'],
  ['/exec/shop/web/wrong-uid/main?command=x&output=1', 404, 'pod does not exist'],
  ['/exec/shop/web/young?command=x&output=1', 500, 'container not found ("young")'],
  ['/pods', 400, 'this path has no upgrade'],
])('%s is refused with %d', async (url, status, words) => {
  const { ended, seen } = await stream(url);
  await ended;
  expect(seen()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(seen()).toContain(words);
});

test('a checkpoint is made by the runtime, and what it cannot do is told in its words', async () => {
  const post = { method: 'POST' };
  expect((await get('/checkpoint/shop/web/main')).status).toBe(405);
  const made = await get('/checkpoint/shop/web/main?timeout=5', admin, post);
  const { location, id, timeout } = asked.at(-1) as { location: string; id: string; timeout: number };
  expect([id, timeout]).toEqual(['c1', 5]);
  expect(location).toMatch(/\/checkpoints\/checkpoint-web_shop-main-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.tar$/);
  expect([made.status, JSON.parse(made.body)]).toEqual([200, { items: [location] }]);
  expect(await get('/checkpoint/shop/web/main?timeout=9', admin, post)).toEqual({
    status: 500,
    body: 'checkpointing of shop/web/main failed (no criu here)\n',
  });
  for (const [url, words] of [
    ['/checkpoint/shop/none/main', 'pod does not exist\n'],
    ['/checkpoint/shop/web/none', 'container none does not exist\n'],
    ['/checkpoint/shop/web/main?timeout=soon', 'cannot parse value of timeout parameter\n'],
  ] as const)
    expect(await get(url, admin, post)).toEqual({ status: 404, body: words });
  expect((await get('/checkpoint/shop/web/main', guest, post)).status).toBe(403);
});

test('without an upgrade there is no stream', async () => {
  expect((await get('/exec/shop/web/main?command=x&output=1', admin, { method: 'POST' })).status).toBe(400);
});

test('health, plainly and on loopback', async () => {
  let problem: string | undefined;
  const health = await openHealthz({ address: '127.0.0.1', port: 0, health: () => problem });
  const ask = async (url: string) => {
    const answer = await fetch(`http://127.0.0.1:${health.port}${url}`);
    return [answer.status, await answer.text()];
  };
  expect(await ask('/healthz')).toEqual([200, 'ok']);
  problem = 'PLEG is not healthy';
  expect(await ask('/healthz')).toEqual([500, 'PLEG is not healthy']);
  expect((await ask('/pods'))[0]).toBe(404);
  await health.close();
});

test('the read-only port tells of pods and figures, and of nothing else', async () => {
  const others = (request: http.IncomingMessage, response: http.ServerResponse) => {
    response.end(`figures of ${request.url}`);
    return true;
  };
  const pods = { list: () => [pod], get: () => pod };
  const readOnly = await openReadOnly({ address: '127.0.0.1', port: 0, pods, others });
  const ask = async (url: string, method = 'GET') => {
    const answer = await fetch(`http://127.0.0.1:${readOnly.port}${url}`, { method });
    return [answer.status, await answer.text()];
  };
  try {
    expect(await ask('/healthz')).toEqual([200, 'ok']);
    expect(await ask('/metrics/cadvisor')).toEqual([200, 'figures of /metrics/cadvisor']);
    const [status, body] = await ask('/pods');
    expect([status, JSON.parse(String(body)).items[0].metadata.name]).toEqual([200, 'web']);
    for (const closed of [
      '/configz',
      '/logs/',
      '/containerLogs/shop/web/main',
      '/exec/shop/web/main',
      '/runningpods/',
      '//',
      '//host/metrics',
    ])
      expect((await ask(closed))[0]).toBe(404);
    expect((await ask('/pods', 'POST'))[0]).toBe(405);
  } finally {
    await readOnly.close();
  }
});
