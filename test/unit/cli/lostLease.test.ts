// What `trellis scheduler` and `trellis controller-manager` end with when another takes their lease.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { LEASES, NAMESPACES } from '../../../src/api/resources.js';
import { controllerManagerCommand } from '../../../src/cli/controllerManager/command.js';
import { schedulerCommand } from '../../../src/cli/scheduler.js';
import type { Terminal } from '../../../src/cli/terminal.js';
import type { Client } from '../../../src/client/client.js';
import { openClient } from '../../../src/client/typedClient.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';
import { until } from '../../support/until.js';

const namespace = 'kube-system';
let api: TestApiServer;
let client: Client;
let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  api = await startTestApiServer();
  client = openClient(api.transport);
  await client.of(NAMESPACES).create({ metadata: { name: namespace } });
  folder = await mkdtemp(path.join(tmpdir(), 'trellis-lease-'));
  kubeconfig = path.join(folder, 'kubeconfig');
  const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
  const user = {
    'client-certificate-data': base64(api.admin.cert),
    'client-key-data': base64(api.admin.key),
  };
  const config = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [
      { name: 'test', cluster: { server: api.url, 'certificate-authority-data': base64(api.pki.ca) } },
    ],
    users: [{ name: 'test', user }],
  };
  await writeFile(kubeconfig, stringify(config), { mode: 0o600 });
});
afterAll(async () => {
  await api?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Its log is of no interest. */
beforeEach(() => void vi.spyOn(process.stderr, 'write').mockReturnValue(true));
afterEach(() => void vi.restoreAllMocks());

test.each([
  ['kube-scheduler', schedulerCommand, []],
  ['kube-controller-manager', controllerManagerCommand, ['--controllers=serviceaccount-controller']],
] as const)('%s ends with 1', async (name, commandFor, more) => {
  const codes: number[] = [];
  const terminal = {
    colour: false,
    live: false,
    write: () => {},
    writeError: () => {},
    setExitCode: (code: number) => codes.push(code),
  } as unknown as Terminal;
  const times = ['lease-duration=2s', 'renew-deadline=1s', 'retry-period=50ms'];
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    '--secure-port=0',
    ...times.map((one) => `--leader-elect-${one}`),
  ];
  const ended = commandFor(terminal).parseAsync([...flags, ...more], { from: 'user' });
  const lease = await until(() => client.of(LEASES).get({ name, namespace }));
  expect(lease.spec.holderIdentity).not.toBe('');
  const taken = { spec: { holderIdentity: 'somebody', leaseDurationSeconds: 60 } };
  await client.of(LEASES).patch({ name, namespace }, 'merge', taken);
  await ended;
  expect(codes).toEqual([1]);
});
