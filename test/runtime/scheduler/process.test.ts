// `trellis scheduler` as a process: killed while it works and started again, it forgets no pod and over-fills no node.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBody } from '../../../src/client/answer.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { kubeconfigText } from '../../../src/cluster/kubeconfig.js';
import { freePort } from '../../support/etcd.js';
import { Playground, until } from './support.js';

const MAIN = path.resolve('dist/src/cli/main.js');
const PODS_PER_NODE = 20;
const NODES = ['a', 'b', 'c'];
const POD_COUNT = NODES.length * PODS_PER_NODE;

let ground: Playground;
let folder: string;
let child: ChildProcess | undefined;
beforeAll(async () => {
  ground = await Playground.open();
  folder = await mkdtemp(path.join(tmpdir(), 'scheduler-process-'));
  const { pki, url } = ground.api;
  const user = 'system:kube-scheduler';
  const text = kubeconfigText({ server: url, ca: pki.ca, client: await pki.client(user), user });
  await writeFile(path.join(folder, 'kubeconfig'), text, { mode: 0o600 });
});
afterAll(async () => {
  await end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
  await ground.close();
});

function start(port: number): void {
  const kubeconfig = path.join(folder, 'kubeconfig');
  const flags = ['--kubeconfig', kubeconfig, '--leader-elect=false', '--bind-address', '127.0.0.1'];
  child = spawn(process.execPath, [MAIN, 'scheduler', ...flags, '--secure-port', String(port)], {
    stdio: 'ignore',
  });
}

async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
  const ending = child;
  if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return null;
  const ended = once(ending, 'exit');
  ending.kill(signal);
  await ended;
  return ending.exitCode;
}

async function readiness(port: number): Promise<string> {
  const transport = openHttps({ server: `https://127.0.0.1:${port}`, insecureSkipTlsVerify: true });
  try {
    return (await readBody(await transport.request({ method: 'GET', path: '/readyz' }))).toString();
  } finally {
    transport.close();
  }
}

test('fills every node exactly, killed again and again; TERM ends it well', {
  timeout: 180_000,
}, async () => {
  for (const name of NODES) await ground.node(name, { allocatable: { pods: String(PODS_PER_NODE) } });
  const port = await freePort();
  start(port);
  await until(async () => expect(await readiness(port)).toBe('ok'));
  const bound = async () => Object.values(await ground.placements());
  let made = 0;
  for (const share of [0.3, 0.6, 1]) {
    const before = made;
    const making: Promise<void>[] = [];
    for (; made < POD_COUNT * share; made += 1) making.push(ground.pod(`p${made}`));
    // Killed with pods on their way: some bound, some chosen, some not yet seen.
    await until(async () => expect((await bound()).length).toBeGreaterThan(before));
    await end('SIGKILL');
    await Promise.all(making);
    start(port);
  }
  await ground.pod('one-more');
  await until(async () => expect(await bound()).toHaveLength(POD_COUNT));
  // Which of them is left over is nobody's promise; that it is told so is.
  const [left] = (await ground.pods()).filter(({ spec }) => spec.nodeName === undefined);
  await until(async () => expect(await ground.failures(left?.metadata.name ?? '')).not.toEqual([]));
  const counts = NODES.map(async (name) => (await bound()).filter((node) => node === name).length);
  expect(await Promise.all(counts)).toEqual(NODES.map(() => PODS_PER_NODE));
  expect(await end('SIGTERM')).toBe(0);
});
