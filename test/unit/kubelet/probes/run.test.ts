// Probes against servers on loopback.
// Guarantees: what passes, what fails, and the words of each failure.
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Probe } from '../../../../src/api/gen/types.js';
import { portOf, runProbe } from '../../../../src/kubelet/probes/run.js';

const open: (() => Promise<unknown>)[] = [];
let port = 0;
let silent = 0;
let closed = 0;
let grpcPort = 0;
let seen: http.IncomingHttpHeaders = {};

const listen = (server: net.Server) =>
  new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    const sockets = new Set<net.Socket>();
    server.on('connection', (socket) => sockets.add(socket));
    open.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((done) => server.close(done));
    });
  });

beforeAll(async () => {
  port = await listen(
    http.createServer((request, response) => {
      seen = request.headers;
      const url = request.url ?? '';
      if (url.startsWith('/status/')) response.statusCode = Number(url.slice(8));
      if (url === '/away') response.writeHead(302, { location: 'http://elsewhere.invalid/' });
      if (url === '/large')
        response.setHeader(
          'set-cookie',
          Array.from({ length: 200 }, () => 'x'.repeat(1_000)),
        );
      if (url === '/here') response.writeHead(302, { location: '/status/204' });
      if (url === '/loop') response.writeHead(302, { location: '/loop' });
      if (url === '/endless') {
        response.on('error', () => {});
        const more = () => response.write('x'.repeat(8192)) && setImmediate(more);
        response.on('drain', more);
        more();
        return;
      }
      response.end('the body');
    }),
  );
  silent = await listen(net.createServer(() => {}));
  const gone = net.createServer();
  closed = await new Promise((resolve) =>
    gone.listen(0, '127.0.0.1', () => resolve((gone.address() as AddressInfo).port)),
  );
  await new Promise((done) => gone.close(done));
  const grpc = new Server();
  grpc.addService(
    {
      check: {
        path: '/grpc.health.v1.Health/Check',
        requestStream: false,
        responseStream: false,
        requestDeserialize: (bytes: Buffer) => ({ service: bytes.subarray(2).toString() }),
        responseSerialize: (state: number) => Buffer.from([0x08, state]),
        requestSerialize: (value: Buffer) => value,
        responseDeserialize: (value: Buffer) => value,
      },
    },
    {
      check: (call: { request: { service: string } }, reply: (error: null, state: number) => void) =>
        reply(null, call.request.service === 'sick' ? 2 : 1),
    },
  );
  grpcPort = await new Promise((resolve, reject) =>
    grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  open.push(async () => grpc.forceShutdown());
});
afterAll(() => Promise.all(open.map((close) => close())));

const ask = (probe: V1Probe, timeoutMs = 2000) =>
  runProbe(async () => ({ stdout: Buffer.from('out'), stderr: Buffer.from('err'), exitCode: 1 }), {
    probe,
    container: { name: 'main', ports: [{ name: 'web', containerPort: port }] },
    containerId: 'a',
    podIp: '127.0.0.1',
    timeoutMs,
  });

test.each([
  ['/', 'success', 'the body'],
  ['status/399', 'success', 'the body'],
  ['/status/404', 'failure', 'HTTP probe failed with statuscode: 404'],
  ['/status/500', 'failure', 'HTTP probe failed with statuscode: 500'],
  ['/large', 'success', 'the body'],
  ['/here', 'success', ''],
  ['/away', 'warning', 'Probe terminated redirects, Response body: the body'],
])('GET %s: %s', async (path, outcome, output) => {
  expect(await ask({ httpGet: { path, port: 'web' } })).toEqual({ outcome, output });
});

test('redirects without end, a body without end, a server that says nothing, and none', async () => {
  expect((await ask({ httpGet: { path: '/loop', port } })).output).toMatch(/stopped after 10 redirects/);
  expect((await ask({ httpGet: { path: '/endless', port } })).output).toHaveLength(10 * 1024);
  expect((await ask({ httpGet: { port: silent } }, 50)).output).toBe(
    `Get "http://127.0.0.1:${silent}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  );
  expect(await ask({ httpGet: { port: closed } })).toEqual({
    outcome: 'failure',
    output: `Get "http://127.0.0.1:${closed}/": dial tcp 127.0.0.1:${closed}: connect: connection refused`,
  });
});

test('GET: an answer whose lines end without a carriage return is one', async () => {
  const plain = await listen(net.createServer((socket) => socket.end('HTTP/1.0 200 OK\nA: b\n\nthe body')));
  expect(await ask({ httpGet: { port: plain } })).toEqual({ outcome: 'success', output: 'the body' });
});

test("headers are the probe's own, with Kubernetes' agent unless it names one", async () => {
  const httpHeaders = [
    { name: 'Host', value: 'shop.example' },
    { name: 'X-A', value: '1' },
    { name: 'X-A', value: '2' },
  ];
  await ask({ httpGet: { port, httpHeaders } });
  expect(seen).toMatchObject({ host: 'shop.example', 'x-a': '1, 2', 'user-agent': 'kube-probe/1.36' });
});

test('TCP: open, refused', async () => {
  expect((await ask({ tcpSocket: { port: silent } })).outcome).toBe('success');
  expect(await ask({ tcpSocket: { port: closed } })).toEqual({
    outcome: 'failure',
    output: `dial tcp 127.0.0.1:${closed}: connect: connection refused`,
  });
});

test('gRPC: serving, not serving, no such protocol, nobody there', async () => {
  expect(await ask({ grpc: { port: grpcPort } })).toEqual({ outcome: 'success', output: 'service healthy' });
  expect((await ask({ grpc: { port: grpcPort, service: 'sick' } })).output).toBe(
    'service unhealthy (responded with "NOT_SERVING")',
  );
  expect((await ask({ grpc: { port: silent } }, 100)).outcome).toBe('failure');
  expect((await ask({ grpc: { port: closed } }, 1000)).output).toMatch(/failed to connect service/);
});

test('exec: by its exit code, with what it printed', async () => {
  expect(await ask({ exec: { command: ['x'] } })).toEqual({ outcome: 'failure', output: 'outerr' });
});

test('exec that takes too long has failed; one that could not run is unknown', async () => {
  const target = {
    probe: { exec: { command: ['sleep', '9'] } },
    container: { name: 'main' },
    containerId: 'a',
    podIp: undefined,
    timeoutMs: 1000,
  };
  const late = Object.assign(new Error('late'), { code: 'DEADLINE_EXCEEDED' });
  expect(await runProbe(() => Promise.reject(late), target)).toEqual({
    outcome: 'failure',
    output: 'command timed out: "sleep 9" timed out after 1s',
  });
  expect((await runProbe(() => Promise.reject(new Error('gone')), target)).outcome).toBe('unknown');
});

test('ports by number, by text and by name', () => {
  const container = { name: 'main', ports: [{ name: 'web', containerPort: 80 }] };
  expect([portOf(81, container), portOf('82', container), portOf('web', container)]).toEqual([81, 82, 80]);
  expect(() => portOf('none', container)).toThrow('couldn\'t find port: "none" in container ports');
  expect(() => portOf(0, container)).toThrow('invalid port number: 0');
});
