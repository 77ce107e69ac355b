// Flags of `trellis apiserver` seen from outside: what is switched off is gone, where it says that it serves it does.
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  DAEMON_SETS,
  EVENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  SERVICE_ACCOUNTS,
} from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import type { Client } from '../../../src/client/client.js';
import { openClient } from '../../../src/client/typedClient.js';
import { type ApiServerCommand, startApiServerCommand } from '../../support/apiServerCommand.js';
import { until } from '../../support/until.js';

const ADDRESS = '127.0.0.9';
let server: ApiServerCommand;
let client: Client;
beforeAll(async () => {
  server = await startApiServerCommand({
    args: [
      '--bind-address',
      ADDRESS,
      '--event-ttl=2s',
      '--v=4',
      '--requestheader-allowed-names=front',
      '--runtime-config=autoscaling/v1=false',
      '--runtime-config=apps/v1/daemonsets=false',
      '--tls-min-version=VersionTLS13',
      '--enable-bootstrap-token-auth=true',
      '--anonymous-auth=false',
      '--service-account-max-token-expiration=1h',
    ],
  });
  client = openClient(server.transport);
});
afterAll(() => server?.close());

test('it says where it serves, and so does the kubeconfig', () => {
  expect(server.output()).toContain(`Serving at https://${ADDRESS}:${server.port}\n`);
  expect(server.admin.server).toBe(`https://${ADDRESS}:${server.port}`);
});

test('what is switched off is neither found nor listed; other versions of the same objects are', async () => {
  await expect(client.of(DAEMON_SETS).list()).rejects.toSatisfy((error) => ApiError.is(error, 'NotFound'));
  expect((await client.of(HORIZONTAL_POD_AUTOSCALERS).list()).items).toEqual([]);
  const groups = await client.raw<{
    groups: readonly { name: string; versions: readonly { version: string }[] }[];
  }>('GET', '/apis');
  const autoscaling = groups.groups.find(({ name }) => name === 'autoscaling');
  expect(autoscaling?.versions.map(({ version }) => version)).toEqual(['v2']);
  const apps = await client.raw<{ resources: readonly { name: string }[] }>('GET', '/apis/apps/v1');
  expect(apps.resources.map(({ name }) => name)).not.toContain('daemonsets');
  await expect(client.raw('GET', '/apis/autoscaling/v1')).rejects.toThrow('could not find');
});

test('an event goes when its time is over', async () => {
  const involvedObject = { kind: 'Pod', namespace: 'default', name: 'p' };
  const metadata = { name: 'short', namespace: 'default' };
  await client.of(EVENTS).create({ metadata, involvedObject, reason: 'R', message: 'm' });
  await until(async () => {
    const { items } = await client.of(EVENTS).list();
    expect(items.map(({ metadata: { name } }) => name)).not.toContain('short');
  });
});

test('TLS 1.2 is refused where 1.3 is the least', async () => {
  const { port } = server;
  const ended = new Promise<string>((resolve) => {
    const socket = connect({ host: ADDRESS, port, maxVersion: 'TLSv1.2', rejectUnauthorized: false });
    socket.on('secureConnect', () => resolve('connected'));
    socket.on('error', ({ message }) => resolve(message));
  });
  expect(await ended).toMatch(/alert protocol version|ECONNRESET|disconnected/);
});

test('no token lives longer than the longest life', async () => {
  await client.of(SERVICE_ACCOUNTS).create({ metadata: { name: 'a', namespace: 'default' } });
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 7200, audiences: ['x'] },
  };
  const path = '/api/v1/namespaces/default/serviceaccounts/a/token';
  const { spec } = await client.raw<{ spec: { expirationSeconds: number } }>('POST', path, request);
  expect(spec.expirationSeconds).toBe(3600);
});

test('a flag that changes nothing is told', () => {
  expect(server.output()).toContain(
    '"a flag has no effect" flag="--requestheader-allowed-names" value="front"',
  );
});
