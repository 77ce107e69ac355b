// Logs and upgraded connections, passed through to a kubelet that the test plays.
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PemPair } from '../../../src/api/certificates/keyPair.js';
import { NAMESPACES, NODES, PODS } from '../../../src/api/resources.js';
import { openClient } from '../../../src/client/typedClient.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';
import { makeTestPki, type TestPki } from '../../support/testPki.js';

const use = (usageNanoCores: number, workingSetBytes: number) => ({
  cpu: { time: '2026-01-02T03:04:05Z', usageNanoCores },
  memory: { workingSetBytes },
});
const SUMMARY = {
  node: use(250_000_000, 2 ** 30),
  pods: [
    {
      podRef: { namespace: 'default', name: 'web' },
      containers: [{ name: 'a', ...use(1_500_000, 2 ** 20) }],
    },
    {
      podRef: { namespace: 'default', name: 'two' },
      containers: [{ name: 'a', ...use(1, 1) }, { name: 'b' }],
    },
    { podRef: { namespace: 'default', name: 'gone' }, containers: [{ name: 'a', ...use(1, 1) }] },
  ],
};

describe('a pod on a node', () => {
  let pki: TestPki;
  let api: TestApiServer;
  let kubelet: https.Server;
  let admin: PemPair;
  const seen: { url: string; peer: string; authorization: string | undefined }[] = [];

  beforeAll(async () => {
    pki = await makeTestPki();
    admin = await pki.client('admin', 'system:masters');
    kubelet = https.createServer({
      ...(await pki.server()),
      ca: pki.ca,
      requestCert: true,
      rejectUnauthorized: true,
    });
    kubelet.on('request', (request, response) => {
      note(request);
      if (request.url === '/stats/summary') response.writeHead(200).end(JSON.stringify(SUMMARY));
      else if (request.url?.includes('previous'))
        response.writeHead(400).end('container "a" in pod "web" is waiting to start: ContainerCreating');
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('line 1\nline 2\n');
    });
    kubelet.on('upgrade', (request, socket) => {
      note(request);
      if (request.headers.upgrade !== 'SPDY/3.1') {
        socket.end(
          'HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nno sockets',
        );
        return;
      }
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
      socket.on('error', () => {}).pipe(socket);
    });
    await new Promise<void>((done) => kubelet.listen(0, '127.0.0.1', done));
    const { port } = kubelet.address() as AddressInfo;
    api = await startTestApiServer({
      pki,
      kubelet: { ...(await pki.client('kube-apiserver')), ca: pki.ca, allowLoopback: true },
    });
    const client = openClient(api.transport);
    await client.of(NAMESPACES).create({ metadata: { name: 'default' } });
    await client.of(NODES).create({ metadata: { name: 'n1' } });
    await client.of(NODES).patch(
      { name: 'n1' },
      'merge',
      {
        status: {
          addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
          daemonEndpoints: { kubeletEndpoint: { Port: port } },
        },
      },
      { subresource: 'status' },
    );
    for (const [name, containers] of [
      ['web', ['a']],
      ['two', ['a', 'b']],
    ] as const) {
      await client.of(PODS).create({
        metadata: { name, namespace: 'default' },
        spec: { nodeName: 'n1', containers: containers.map((one) => ({ name: one, image: 'x' })) },
      });
    }
  });
  afterAll(async () => {
    await api?.close();
    kubelet?.closeAllConnections();
    await new Promise((done) => kubelet?.close(done));
  });

  function note(request: {
    url?: string | undefined;
    headers: { authorization?: string | undefined };
    socket: unknown;
  }) {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    seen.push({
      url: request.url ?? '',
      peer: String(subject.CN),
      authorization: request.headers.authorization,
    });
  }

  async function get(path: string): Promise<{ status: number; text: string }> {
    const response = await api.transport.request({ method: 'GET', path });
    let text = '';
    for await (const chunk of response.body) text += Buffer.from(chunk).toString();
    return { status: response.status, text };
  }

  const pod = '/api/v1/namespaces/default/pods';

  test("shows its log, fetched with the apiserver's own certificate", async () => {
    expect(await get(`${pod}/web/log?tailLines=2`)).toEqual({ status: 200, text: 'line 1\nline 2\n' });
    expect(seen.at(-1)).toEqual({
      url: '/containerLogs/default/web/a?tailLines=2',
      peer: 'kube-apiserver',
      authorization: undefined,
    });
  });

  test('uses what its kubelet measured, and is left out without a measurement', async () => {
    const metrics = '/apis/metrics.k8s.io/v1beta1';
    const json = async (path: string) => JSON.parse((await get(path)).text);
    const usage = { cpu: '1500000n', memory: '1024Ki' };
    expect(await json(`${metrics}/namespaces/default/pods`)).toMatchObject({
      kind: 'PodMetricsList',
      items: [
        { metadata: { name: 'web' }, timestamp: '2026-01-02T03:04:05Z', containers: [{ name: 'a', usage }] },
      ],
    });
    expect(await json(`${metrics}/nodes/n1`)).toMatchObject({
      kind: 'NodeMetrics',
      usage: { cpu: '250000000n', memory: '1048576Ki' },
    });
    expect(await json(`${metrics}/pods?labelSelector=app%3Dnone`)).toMatchObject({ items: [] });
    expect(await get(`${metrics}/namespaces/default/pods/two`)).toMatchObject({ status: 404 });
    expect(await json(metrics)).toMatchObject({
      resources: [
        { name: 'nodes', kind: 'NodeMetrics', namespaced: false, verbs: ['get', 'list'] },
        { name: 'pods', kind: 'PodMetrics', namespaced: true, verbs: ['get', 'list'] },
      ],
    });
    expect(seen.filter(({ url }) => url === '/stats/summary')).toHaveLength(1);
  });

  test("needs the container's name when it has several", async () => {
    const { status, text } = await get(`${pod}/two/log`);
    expect(status).toBe(400);
    expect(JSON.parse(text).message).toBe(
      'a container name must be specified for pod two, choose one of: [a b]',
    );
  });

  test("passes the kubelet's refusal on as a Status", async () => {
    const { status, text } = await get(`${pod}/web/log?previous=true`);
    expect(status).toBe(400);
    expect(JSON.parse(text).message).toContain('is waiting to start: ContainerCreating');
  });

  function upgrade(protocol: string): Promise<{ status: number; echoed: string }> {
    return new Promise((resolve, reject) => {
      const request = https.request({
        host: '127.0.0.1',
        port: api.server.port,
        method: 'POST',
        path: `${pod}/web/exec?command=ls&command=-l&stdin=true&stdout=true`,
        headers: { connection: 'Upgrade', upgrade: protocol },
        ca: pki.ca,
        agent: false,
        ...admin,
      });
      request.on('error', reject);
      request.on('response', (response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0, echoed: '' });
      });
      request.on('upgrade', (response, socket) => {
        socket.on('error', () => {});
        socket.once('data', (data) => {
          resolve({ status: response.statusCode ?? 0, echoed: String(data) });
          socket.destroy();
        });
        socket.write('hello');
      });
      request.end();
    });
  }

  test('is joined to the client after the switch of protocols', async () => {
    expect(await upgrade('SPDY/3.1')).toEqual({ status: 101, echoed: 'hello' });
    expect(seen.at(-1)?.url).toBe('/exec/default/web/a?input=1&output=1&command=ls&command=-l');
  });

  test('passes a refused switch back, so that the client can try another protocol', async () => {
    expect(await upgrade('websocket')).toMatchObject({ status: 403 });
  });
});
