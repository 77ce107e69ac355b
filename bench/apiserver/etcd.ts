// The peer of creates: one member of Debian's etcd on loopback, over TLS with client certificates.
// Guarantees: its defaults but for addresses, certificates and the gateway that nobody asks; ready when this resolves.
import { type ChildProcess, spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import path from 'node:path';

export interface Etcd {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
}

/** `folder` has the certificates of place.ts. */
export async function startEtcd(folder: string): Promise<Etcd> {
  const [port, peer] = [20_000 + (process.pid % 20_000), 40_000 + (process.pid % 20_000)];
  const [url, peerUrl] = [`https://127.0.0.1:${port}`, `http://127.0.0.1:${peer}`];
  const file = (name: string) => path.join(folder, name);
  const args = [
    [`--data-dir=${file('etcd')}`, '--logger=zap', '--log-level=error', '--enable-grpc-gateway=false'],
    [`--cert-file=${file('server.crt')}`, `--key-file=${file('server.key')}`],
    ['--client-cert-auth', `--trusted-ca-file=${file('ca.crt')}`],
    [`--listen-client-urls=${url}`, `--advertise-client-urls=${url}`],
    [`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
    [`--initial-cluster=default=${peerUrl}`],
  ].flat();
  const child = spawn('etcd', args, { stdio: 'ignore' });
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  const isOpen = () =>
    new Promise<boolean>((resolve) => {
      const socket = createConnection(port, '127.0.0.1', () => resolve(true));
      socket.once('connect', () => socket.destroy()).once('error', () => resolve(false));
    });
  const open = async () => {
    while (!(await isOpen())) {
      if (child.exitCode !== null) throw new Error(`etcd ended with ${child.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await Promise.race([open(), failed]);
  return { child, pid: child.pid ?? 0, port };
}
