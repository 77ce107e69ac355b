// What the configuration takes away from the kubelet's API: older TLS, other cipher suites, ways into containers.
import type http from 'node:http';
import https from 'node:https';
import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import type { RuntimeService } from '../../../../src/cri/runtime.js';
import {
  type KubeletServer,
  type KubeletServerOptions,
  openKubeletServer,
} from '../../../../src/kubelet/server/server.js';
import { makeTestPki } from '../../../support/testPki.js';

let server: KubeletServer | undefined;
afterEach(async () => {
  await server?.close();
});

async function open(more: Partial<KubeletServerOptions>) {
  const pki = await makeTestPki();
  server = await openKubeletServer({
    address: '127.0.0.1',
    port: 0,
    log: silentLog,
    checkpointsDir: '/nowhere',
    tls: { ...(await pki.server()), clientCa: pki.ca },
    access: { authenticate: async () => ({ user: 'u', groups: [] }), authorize: async () => true },
    runtime: {} as RuntimeService,
    pods: { list: () => [], get: () => undefined },
    ...more,
  });
  const { port } = server;
  return (path: string, options: https.RequestOptions = {}) =>
    new Promise<string>((resolve) => {
      const where = { host: '127.0.0.1', port, path, ca: pki.ca, agent: false as const };
      const told = ({ statusCode = 0, socket }: http.IncomingMessage) => {
        const { name } = (socket as import('node:tls').TLSSocket).getCipher();
        resolve(`${statusCode} ${name}`);
        socket.destroy();
      };
      https
        .request({ ...where, ...options }, told)
        .on('upgrade', told)
        .on('error', ({ message }) => resolve(message))
        .end();
    });
}

test('speaks nothing older than tlsMinVersion', async () => {
  const ask = await open({ tlsMinVersion: 'VersionTLS13' });
  expect(await ask('/healthz')).toMatch(/^200 /);
  expect(await ask('/healthz', { maxVersion: 'TLSv1.2' })).toMatch(/protocol version/);
});

test('offers the cipher suites of tlsCipherSuites alone, and those of TLS 1.3', async () => {
  const suite = 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384';
  const ask = await open({ tlsCipherSuites: [suite] });
  expect(await ask('/healthz', { maxVersion: 'TLSv1.2' })).toBe('200 ECDHE-ECDSA-AES256-GCM-SHA384');
  const other = { maxVersion: 'TLSv1.2' as const, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' };
  expect(await ask('/healthz', other)).toMatch(/handshake failure/);
  expect(await ask('/healthz')).toMatch(/^200 TLS_/);
});

test('has no way into containers without its debugging handlers', async () => {
  const ask = await open({ enableDebuggingHandlers: false });
  expect(await ask('/healthz')).toMatch(/^200 /);
  expect(await ask('/pods')).toMatch(/^200 /);
  for (const path of [
    '/containerLogs/a/b/c',
    '/exec/a/b/c',
    '/attach/a/b/c',
    '/portForward/a/b',
    '/runningpods/',
  ])
    expect([path, await ask(path)]).toEqual([path, expect.stringMatching(/^405 /)]);
  const upgrade = { method: 'POST', headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1' } };
  expect(await ask('/exec/a/b/c', upgrade)).toMatch(/^405 /);
});
