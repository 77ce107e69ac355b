// `trellis apiserver --data-dir D`: makes what it needs, serves kubectl's requests, ends in order, and comes back the same.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { NAMESPACES } from '../../../src/api/resources.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { openClient } from '../../../src/client/typedClient.js';

const MAIN = path.resolve(import.meta.dirname, '../../../dist/src/cli/main.js');
let dir: string;
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'apiserver-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Run {
  readonly child: ChildProcess;
  output(): string;
}

function start(...args: string[]): Run {
  const child = spawn(process.execPath, [MAIN, 'apiserver', '--data-dir', dir, ...args]);
  children.push(child);
  let text = '';
  child.stdout?.on('data', (chunk) => (text += chunk));
  child.stderr?.on('data', (chunk) => (text += chunk));
  return { child, output: () => text };
}

async function serving({ child, output }: Run): Promise<string> {
  while (!output().includes('Serving at')) {
    if (child.exitCode !== null) throw new Error(output());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return readFile(path.join(dir, 'admin.kubeconfig'), 'utf8');
}

async function end({ child }: Run): Promise<number | null> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const [code] = await exited;
  return code;
}

function adminOf(kubeconfig: string) {
  const { clusters, users } = JSON.parse(kubeconfig);
  const decode = (text: string) => Buffer.from(text, 'base64').toString();
  const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
  const { 'client-certificate-data': cert, 'client-key-data': key } = users[0].user;
  return openClient(openHttps({ server, ca: decode(ca), cert: decode(cert), key: decode(key) }));
}

describe('alone', () => {
  test('serves, keeps its data over a restart, and keeps its files to itself', async () => {
    const first = start('--secure-port', '0');
    const admin = adminOf(await serving(first));
    await admin.of(NAMESPACES).create({ metadata: { name: 'kept' } });
    admin.close();
    expect(await end(first)).toBe(0);
    for (const name of await readdir(dir, { recursive: true })) {
      const { mode } = await stat(path.join(dir, name));
      expect(mode & 0o077, name).toBe(0);
    }
    const again = start('--secure-port', '0', '--authorization-mode', 'RBAC');
    const client = adminOf(await serving(again));
    expect((await client.of(NAMESPACES).get({ name: 'kept' })).metadata.name).toBe('kept');
    client.close();
    expect(await end(again)).toBe(0);
  });
  test.each<[string, string[], RegExp]>([
    ['an unknown plugin', ['--enable-admission-plugins', 'Nope'], /no admission plugin is called Nope/],
    ['an unknown mode', ['--authorization-mode', 'Webhook'], /"Webhook" is no authorization mode/],
    ['an insecure port for all', ['--insecure-port', '0', '--insecure-bind-address', '0.0.0.0'], /loopback/],
    ['ABAC without policies', ['--authorization-mode', 'ABAC'], /--authorization-policy-file/],
    ['a node port range that is none', ['--service-node-port-range', '5'], /range of node ports/],
    ['a file that is not there', ['--token-auth-file', '/nonexistent'], /nonexistent/],
    ['a service range that is none', ['--service-cluster-ip-range', 'x'], /service range/],
  ])('refuses %s in one sentence', async (_, args, message) => {
    const run = start('--secure-port', '0', ...args);
    const [code] = await once(run.child, 'exit');
    expect([code, run.output()]).toEqual([1, expect.stringMatching(message)]);
    expect(run.output().trim().split('\n')).toHaveLength(1);
  });
});
