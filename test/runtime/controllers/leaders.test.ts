// Two controller managers as processes: one works, and when it is killed the other goes on where it was.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { DEPLOYMENTS, LEASES, NAMESPACES, PODS, SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import { freePort } from '../../support/etcd.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

const MAIN = path.resolve('dist/src/cli/main.js');
const CONTROLLERS = '--controllers=deployment-controller,replicaset-controller,serviceaccount-controller';
let api: SecuredApiServer;
let folder: string;
let kubeconfig: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  api = await startSecuredApiServer();
  folder = await mkdtemp(path.join(tmpdir(), 'trellis-leaders-'));
  kubeconfig = path.join(folder, 'kubeconfig');
  const { cert, key } = await api.pki.client('system:kube-controller-manager', 'system:nobodies');
  const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
  const config = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [
      { name: 'test', cluster: { server: api.url, 'certificate-authority-data': base64(api.pki.ca) } },
    ],
    users: [
      { name: 'test', user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } },
    ],
  };
  await writeFile(kubeconfig, stringify(config), { mode: 0o600 });
  await api.client
    .of(NAMESPACES)
    .create({ metadata: { name: 'kube-system' } })
    .catch((error: unknown) => {
      if (!ApiError.is(error, 'AlreadyExists')) throw error;
    });
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await api.close();
  await rm(folder, { recursive: true });
});

function startManager(port = 0): ChildProcess {
  const args = [MAIN, 'controller-manager', '--kubeconfig', kubeconfig];
  const times = ['--leader-elect-lease-duration=8s', '--leader-elect-renew-deadline=6s'];
  const child = spawn(
    process.execPath,
    [
      ...args,
      ...times,
      '--leader-elect-retry-period=500ms',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      '--use-service-account-credentials=true',
      CONTROLLERS,
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  children.push(child);
  return child;
}

/** The certificate is one made for the run, which nobody can know. */
const answer = (port: number, path: string) =>
  new Promise<[number | undefined, string]>((resolve, reject) => {
    const request = https.get({ port, path, host: '127.0.0.1', rejectUnauthorized: false }, (response) => {
      text(response).then((body) => resolve([response.statusCode, body]), reject);
    });
    request.on('error', reject);
  });
const holder = async () => {
  const lease = await api.client
    .of(LEASES)
    .get({ name: 'kube-controller-manager', namespace: 'kube-system' });
  return lease.spec.holderIdentity ?? '';
};
const podNames = async () =>
  (await api.client.of(PODS).list({ namespace: 'default' })).items.map(({ metadata }) => metadata.name);

test('goes on after the leader is killed, and makes nothing twice', async () => {
  const port = await freePort();
  const first = startManager(port);
  await until(async () => expect(await holder()).not.toBe(''));
  const leader = await holder();
  expect(await answer(port, '/healthz')).toEqual([200, 'ok']);
  expect((await answer(port, '/metrics'))[0]).toBe(403);
  startManager();
  const deployments = api.client.of(DEPLOYMENTS);
  await deployments.create({
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 200,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'm', image: 'i' }] } },
    },
  });
  await until(async () => expect((await podNames()).length).toBeGreaterThan(10));
  first.kill('SIGKILL');
  await until(async () => expect(await podNames()).toHaveLength(200));
  await until(async () => expect(await holder()).not.toBe(leader));
  // Time for whatever would be made too much.
  await until(async () => {
    const { status } = await deployments.get({ name: 'web', namespace: 'default' });
    expect(status.replicas).toBe(200);
  });
  expect(await podNames()).toHaveLength(200);
});

test('makes each controller act as its own service account', async () => {
  const accounts = await api.client.of(SERVICE_ACCOUNTS).list({ namespace: 'kube-system' });
  const names = accounts.items.map(({ metadata }) => metadata.name);
  expect(names).toEqual(expect.arrayContaining(['deployment-controller', 'replicaset-controller']));
});

test('ends in order on TERM and gives the lease back', async () => {
  const [, second] = children;
  if (second === undefined) throw new Error('the second manager is missing');
  const ended = new Promise<number | null>((resolve) => second.once('exit', resolve));
  second.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(await holder()).toBe('');
});
