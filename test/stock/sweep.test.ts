// The sweep of kubectl against a stock kube-apiserver with nothing beside it but etcd: what the golden file of our server holds.
// Guarantees: stock.txt has every command that a stock server answers otherwise, with its answer; `vitest -u` writes it anew.
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort, startEtcd, type TestEtcd } from '../support/etcd.js';
import { type Kubectl, kubectlMinor, openKubectl } from '../support/kubectl.js';
import { runSweep, sweepBlock, sweepSteps } from '../support/kubectlSweep.js';
import { makeTestPki } from '../support/testPki.js';
import { until } from '../support/until.js';

const STOCK = process.env['TRELLIS_STOCK'] ?? '';
const KUBECTL = path.join(STOCK, 'kubectl');
const FOLDER = path.resolve(import.meta.dirname, '../runtime/apiserver/kubectl');
const DIFFERS = path.join(FOLDER, 'stock.txt');

let folder: string;
let etcd: TestEtcd;
let server: ChildProcess;
let kubectl: Kubectl;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'trellis-stock-sweep-'));
  etcd = await startEtcd();
  const pki = await makeTestPki();
  const { cert, key } = await pki.server();
  const account = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const files = {
    'ca.crt': pki.ca,
    'server.crt': cert,
    'server.key': key,
    'sa.pub': account.publicKey.export({ type: 'spki', format: 'pem' }),
    'sa.key': account.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  const port = await freePort();
  server = spawn(path.join(STOCK, 'kube-apiserver'), serverFlags(port), { stdio: 'ignore' });
  kubectl = await openKubectl(
    `https://127.0.0.1:${port}`,
    pki.ca,
    await pki.client('admin', 'system:masters'),
    KUBECTL,
  );
  // The flow schemas get their conditions, and the first namespaces are made, a moment after that.
  await until(async () => {
    expect((await kubectl('get', '--raw', '/readyz')).stdout).toBe('ok');
    expect((await kubectl('get', 'namespace', 'default', 'kube-node-lease')).code).toBe(0);
    const { stdout } = await kubectl('get', 'flowschemas', '-o', 'jsonpath={.items[*].status.conditions}');
    expect(stdout.match(/Dangling/g)).toHaveLength(11);
  });
});
afterAll(async () => {
  await kubectl?.close();
  if (server?.exitCode === null) {
    const gone = new Promise((resolve) => server.once('exit', resolve));
    server.kill();
    await gone;
  }
  await etcd?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As the server of the golden file is set up; see test/support/securedApiServer.ts. */
function serverFlags(port: number): readonly string[] {
  const file = (name: string) => path.join(folder, name);
  return [
    `--etcd-servers=${etcd.endpoint}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--advertise-address=192.0.2.1',
    `--client-ca-file=${file('ca.crt')}`,
    `--tls-cert-file=${file('server.crt')}`,
    `--tls-private-key-file=${file('server.key')}`,
    '--authorization-mode=Node,RBAC',
    '--allow-privileged=true',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${file('sa.pub')}`,
    `--service-account-signing-key-file=${file('sa.key')}`,
  ];
}

test('a stock server prints what ours prints, but for what the file of differences holds', async () => {
  const { steps } = sweepSteps(readFileSync(path.join(FOLDER, 'sweep.txt'), 'utf8'));
  const { head } = sweepSteps(readFileSync(DIFFERS, 'utf8'));
  const printed = await runSweep(kubectl, kubectlMinor(KUBECTL), steps);
  const differing = steps.flatMap((step, at) =>
    printed[at] === step.printed ? [] : [sweepBlock(step, printed[at] ?? '')],
  );
  await expect(`${head}${differing.join('')}`).toMatchFileSnapshot(DIFFERS);
}, 600_000);
