// A control plane for one measurement, in a process of its own, and a client of it that may do everything.
// Guarantees: clean() ends every process that was started here and removes the folder; what is measured goes over TLS.
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { readBody } from '../../src/client/answer.js';
import type { Client } from '../../src/client/client.js';
import { openHttps } from '../../src/client/httpTransport.js';
import { openClient } from '../../src/client/typedClient.js';
import { type Layout, layoutOf } from '../../src/cluster/layout.js';
import { ensurePki, type Pki } from '../../src/cluster/pki/files.js';
import { cpuSeconds, residentMb } from '../lib/process.js';

const AT_ONCE = 64;
/** Of what `calls` counts: what changes something. */
export const WRITES = /^(POST|PUT|PATCH|DELETE) /;
/** On a busy machine a crowd of requests may take long; what is measured says how long. */
const REQUEST_MS = 600_000;

export interface ControlPlane {
  readonly client: Client;
  /** Its address. */
  readonly server: string;
  cpuSeconds(): number;
  residentMb(): number;
  /** Requests answered so far, by verb and resource such as `POST pods/binding`. */
  calls(): Promise<Map<string, number>>;
  stop(): Promise<void>;
  /** Ends it as a crash would: nothing is said, nothing is written any more. */
  kill(): Promise<void>;
}

export interface Testbed {
  readonly folder: string;
  readonly storeFolder: string;
  start(): Promise<ControlPlane>;
  clean(): Promise<void>;
}

/** `script` is this folder's serve.js, for who does not run from where it was built. */
export async function makeTestbed(
  script = fileURLToPath(new URL('./serve.js', import.meta.url)),
): Promise<Testbed> {
  // Not in /tmp, which may be memory: what is written must reach a disk.
  const folder = mkdtempSync('/var/tmp/trellis-bench-');
  const layout = layoutOf(folder);
  const pki = await benchPki(layout);
  const running = new Set<ControlPlane>();
  return {
    folder,
    storeFolder: layout.storeDir,
    async start() {
      const plane = await startPlane(script, folder, pki);
      running.add(plane);
      return plane;
    },
    async clean() {
      for (const plane of running) await plane.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Made at the first call, read at the next. */
export function benchPki({ pkiDir }: Layout): Promise<Pki> {
  const hosts = ['127.0.0.1', 'localhost'];
  return ensurePki({
    dir: pkiDir,
    nodeName: 'bench',
    now: Date.now(),
    apiserverHosts: hosts,
    nodeHosts: hosts,
  });
}

async function startPlane(script: string, folder: string, { ca, admin }: Pki): Promise<ControlPlane> {
  const port = await freePort();
  const child = fork(script, [folder, String(port)]);
  await said(child, 'ready');
  const server = `https://127.0.0.1:${port}`;
  const transport = openHttps({ server, ca: ca.cert, ...admin });
  const client = openClient(transport, { requestTimeoutMs: REQUEST_MS });
  const pid = child.pid ?? 0;
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    client.close();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  };
  return {
    client,
    server,
    cpuSeconds: () => cpuSeconds(pid),
    residentMb: () => residentMb(pid),
    async calls() {
      const answer = await transport.request({ method: 'GET', path: '/metrics', headers: {} });
      return countedCalls((await readBody(answer)).toString());
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

function said(child: ChildProcess, word: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the control plane ended with ${code}`)));
    child.on('message', (message) => {
      if (message === word) resolve();
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function countedCalls(metrics: string): Map<string, number> {
  const calls = new Map<string, number>();
  for (const [, labels = '', count] of metrics.matchAll(/^apiserver_request_total\{(.*)\} (\d+)$/gm)) {
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const subresource = label('subresource');
    const what = `${label('verb')} ${label('resource')}${subresource === '' ? '' : `/${subresource}`}`;
    calls.set(what, (calls.get(what) ?? 0) + Number(count));
  }
  return calls;
}

/** Does the work for 0, 1, ... with many under way. */
export async function inParallel(count: number, work: (number: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const one = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
