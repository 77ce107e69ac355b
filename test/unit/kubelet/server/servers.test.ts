// The ports of a kubelet, opened as its configuration says.
// Guarantees: what /configz names can be reached; a port that cannot be had leaves nothing open.
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import type { RuntimeService } from '../../../../src/cri/runtime.js';
import { completeConfig, type KubeletConfig } from '../../../../src/kubelet/config.js';
import type { RunningKubelet } from '../../../../src/kubelet/dependencies.js';
import { type KubeletServers, openKubeletServers } from '../../../../src/kubelet/server/servers.js';
import { makeTestPki, type TestPki } from '../../../support/testPki.js';

let pki: TestPki;
beforeAll(async () => {
  pki = await makeTestPki();
});

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => net.createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => new Promise((done) => server.once('listening', done))));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

async function open(config: Partial<KubeletConfig>): Promise<KubeletServers> {
  const kubelet = {
    config: completeConfig({ nodeName: 'n', address: '127.0.0.1', ...config }),
    pods: () => [],
    pod: () => undefined,
    stats: {} as RunningKubelet['stats'],
    unhealthy: () => undefined,
  };
  return openKubeletServers(kubelet, {
    tls: { ...(await pki.server()), clientCa: pki.ca },
    access: {
      authenticate: async () => ({ user: 'admin', groups: [] }),
      authorize: async () => true,
    },
    runtime: {} as RuntimeService,
    log: silentLog,
  });
}

const get = (url: string) =>
  new Promise<string>((resolve, reject) => {
    const answered = (response: http.IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      response.on('end', () => resolve(text));
    };
    const request = url.startsWith('https:')
      ? https.get(url, { rejectUnauthorized: false, agent: false }, answered)
      : http.get(url, { agent: false }, answered);
    request.on('error', reject);
  });

describe('a kubelet', () => {
  let servers: KubeletServers;
  let ports: number[];
  beforeAll(async () => {
    ports = await freePorts(3);
    const [port, healthzPort, readOnlyPort] = ports;
    servers = await open({
      port,
      healthzPort,
      readOnlyPort,
      healthzBindAddress: '127.0.0.2',
    } as KubeletConfig);
  });
  afterAll(() => servers.close());

  test('shows in /configz where it listens, and listens there', async () => {
    const [port, healthzPort, readOnlyPort] = ports;
    const { kubeletconfig } = JSON.parse(await get(`https://127.0.0.1:${port}/configz`));
    expect(kubeletconfig).toMatchObject({ port, healthzPort, readOnlyPort, healthzBindAddress: '127.0.0.2' });
    expect(await get(`http://127.0.0.2:${healthzPort}/healthz`)).toBe('ok');
    expect(await get(`http://127.0.0.1:${readOnlyPort}/healthz`)).toBe('ok');
    await expect(get(`http://127.0.0.1:${healthzPort}/healthz`)).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
  });

  test('that cannot have one of its ports leaves none open', async () => {
    const [port = 0] = await freePorts(1);
    await expect(open({ port, healthzPort: ports[0] as number })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
    await expect(get(`https://127.0.0.1:${port}/configz`)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
