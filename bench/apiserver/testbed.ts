// A folder with certificates for servers and a client that may do everything, and the servers started in it.
// Guarantees: clean() ends every process that was started here and removes the folder.
import { type ChildProcess, fork } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { issue, makeAuthority } from '../../src/cluster/pki/authority.js';
import { cpuSeconds, residentMb } from '../lib/process.js';
import { type Etcd, startEtcd } from './etcd.js';

export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
  memory(options?: { readonly collect: boolean }): Promise<NodeJS.MemoryUsage>;
  residentMb(): number;
  /** Processor time that it has used so far, in steps of 10 ms: true also while others use the machine. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

export interface ClientTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Place {
  readonly folder: string;
  readonly tls: ClientTls;
  /** Of somebody without rights of his own. */
  readonly user: ClientTls & { readonly name: string };
  /** `flags` are Node's. */
  start(what: 'apiserver' | 'floor', flags?: readonly string[]): Promise<ServerProcess>;
  etcd(): Promise<Etcd>;
  clean(): Promise<void>;
}

export async function makePlace(): Promise<Place> {
  // Not in /tmp, which may be memory: these figures are about a disk.
  const folder = mkdtempSync('/var/tmp/trellis-bench-');
  const now = Date.now();
  const ca = await makeAuthority('bench-ca', now);
  const server = await issue(ca, { commonName: 'localhost', hosts: ['localhost', '127.0.0.1'] }, now);
  const client = await issue(ca, { commonName: 'admin', organizations: ['system:masters'] }, now);
  const user = await issue(ca, { commonName: 'alice', organizations: ['users'] }, now);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const files = {
    'ca.crt': ca.cert,
    'server.crt': server.cert,
    'server.key': server.key,
    'sa.key': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
  for (const [name, text] of Object.entries(files))
    writeFileSync(path.join(folder, name), text, { mode: 0o600 });
  const children = new Set<ChildProcess>();
  return {
    folder,
    tls: { ca: ca.cert, cert: client.cert, key: client.key },
    user: { name: 'alice', ca: ca.cert, cert: user.cert, key: user.key },
    async start(what, flags = []) {
      const script = fileURLToPath(new URL('./serve.js', import.meta.url));
      const child = fork(script, [what, folder], {
        execArgv: ['--expose-gc', ...flags, ...process.execArgv],
      });
      children.add(child);
      return serverProcess(child);
    },
    async etcd() {
      const etcd = await startEtcd(folder);
      children.add(etcd.child);
      return etcd;
    },
    async clean() {
      for (const child of children) await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function serverProcess(child: ChildProcess): Promise<ServerProcess> {
  const { port } = await answer<{ port: number }>(child);
  const pid = child.pid ?? 0;
  return {
    port,
    pid,
    async memory({ collect } = { collect: false }) {
      const { memory } = await answer<{ memory: NodeJS.MemoryUsage }>(child, collect ? 'collect' : 'memory');
      return memory;
    },
    residentMb: () => residentMb(pid),
    cpuSeconds: () => cpuSeconds(pid),
    stop: () => end(child),
  };
}

function answer<T>(child: ChildProcess, question?: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('the server ended'));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message as T);
    });
    if (question !== undefined) child.send(question);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}
