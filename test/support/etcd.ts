// A real etcd of one member on loopback, in a folder of its own; gone after the test.
// Guarantees: answers when `startEtcd` resolves; stop() leaves no process and no file.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PemPair } from '../../src/api/certificates/keyPair.js';

export interface TestEtcd {
  readonly endpoint: string;
  /** Ends the process, as a crash does; the data stays. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface TestEtcdOptions {
  /** Server certificate, and the authority that clients must come from. */
  readonly tls?: { readonly ca: string; readonly server: PemPair };
}

export async function startEtcd({ tls }: TestEtcdOptions = {}): Promise<TestEtcd> {
  const folder = await mkdtemp(path.join(tmpdir(), 'etcd-'));
  const [client, peer] = [await freePort(), await freePort()];
  const scheme = tls === undefined ? 'http' : 'https';
  const endpoint = `${scheme}://127.0.0.1:${client}`;
  const args = [
    ['--name=test', `--data-dir=${path.join(folder, 'data')}`, '--logger=zap', '--log-level=warn'],
    [`--listen-client-urls=${endpoint}`, `--advertise-client-urls=${endpoint}`],
    [`--listen-peer-urls=http://127.0.0.1:${peer}`, `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`],
    [`--initial-cluster=test=http://127.0.0.1:${peer}`, '--enable-v2=false'],
  ].flat();
  if (tls !== undefined) {
    const files = { 'ca.crt': tls.ca, 'server.crt': tls.server.cert, 'server.key': tls.server.key };
    for (const [name, text] of Object.entries(files))
      await writeFile(path.join(folder, name), text, { mode: 0o600 });
    args.push(
      `--cert-file=${path.join(folder, 'server.crt')}`,
      `--key-file=${path.join(folder, 'server.key')}`,
    );
    args.push(`--trusted-ca-file=${path.join(folder, 'ca.crt')}`, '--client-cert-auth');
  }
  let child: ChildProcess | undefined;
  const start = async () => {
    child = spawn('etcd', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    await answering(child, client);
  };
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child?.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  };
  await start();
  return {
    endpoint,
    start,
    kill,
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when the port takes connections; what etcd said is in the error when it ends instead. */
async function answering(child: ChildProcess, port: number): Promise<void> {
  let said = '';
  child.stderr?.on('data', (data) => {
    said = `${said}${data}`.slice(-4_000);
  });
  const { connect } = await import('node:net');
  for (;;) {
    if (child.exitCode !== null) throw new Error(`etcd ended with ${child.exitCode}: ${said}`);
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
