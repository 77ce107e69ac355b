// `trellis apiserver` as a process of its own: its own memory, descriptors and end, on a data directory of the test.
// Guarantees: serves when startApiServerCommand resolves; close() leaves no process, and no file but in a directory that was given.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type HttpsOptions, openHttps } from '../../src/client/httpTransport.js';
import { readKubeconfig } from '../../src/client/kubeconfig.js';
import type { Transport } from '../../src/client/transport.js';

const MAIN = path.resolve(import.meta.dirname, '../../dist/src/cli/main.js');

export interface ApiServerCommand {
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly port: number;
  readonly pid: number;
  /** What an administrator connects with. */
  readonly admin: HttpsOptions & { readonly ca: string; readonly cert: string; readonly key: string };
  /** As the administrator. */
  readonly transport: Transport;
  /** All that it wrote to standard output and error. */
  output(): string;
  isAlive(): boolean;
  /** Resident memory in MiB. */
  residentMb(): Promise<number>;
  close(): Promise<void>;
}

interface ApiServerCommandOptions {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** As `ulimit -n` takes it. */
  readonly openFiles?: number;
  /** That of one before, to go on from there; it stays. */
  readonly dataDir?: string;
}

export async function startApiServerCommand({
  args = [],
  env = {},
  openFiles,
  dataDir: given,
}: ApiServerCommandOptions = {}): Promise<ApiServerCommand> {
  const dataDir = given ?? (await mkdtemp(path.join(os.tmpdir(), 'trellis-apiserver-')));
  const argv = [MAIN, 'apiserver', '--data-dir', dataDir, '--secure-port', '0', ...args];
  const child = spawnLimited(argv, openFiles, env);
  let text = '';
  child.stdout?.on('data', (chunk) => (text += chunk));
  child.stderr?.on('data', (chunk) => (text += chunk));
  const end = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    if (given === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await serving(child, () => text);
  } catch (error) {
    await end();
    throw error;
  }
  const kubeconfig = path.join(dataDir, 'admin.kubeconfig');
  const admin = (await readKubeconfig(kubeconfig)) as ApiServerCommand['admin'];
  const transport = openHttps(admin);
  return {
    dataDir,
    kubeconfig,
    admin,
    transport,
    port: Number(new URL(admin.server).port),
    pid: child.pid ?? 0,
    output: () => text,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    residentMb: async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
    },
    async close() {
      transport.close();
      await end();
    },
  };
}

export type Asked = [method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object];

/** Asks as the administrator, and reads the whole answer. */
export async function ask(
  { transport }: Pick<ApiServerCommand, 'transport'>,
  ...[method, path, body]: Asked
) {
  const headers = { 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await transport.request({ method, path, headers, ...sent });
  let text = '';
  for await (const chunk of response.body) text += Buffer.from(chunk).toString();
  return { code: response.status, text, headers: response.headers };
}

function spawnLimited(
  argv: readonly string[],
  openFiles: number | undefined,
  env: NodeJS.ProcessEnv,
): ChildProcess {
  const merged = { env: { ...process.env, ...env } };
  if (openFiles === undefined) return spawn(process.execPath, argv, merged);
  const script = `ulimit -n ${openFiles} && exec "$0" "$@"`;
  return spawn('sh', ['-c', script, process.execPath, ...argv], merged);
}

async function serving(child: ChildProcess, output: () => string): Promise<void> {
  while (!output().includes('Serving at')) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the server ended: ${output()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
