// Whether the control plane of one of our kubeconfigs is reachable.
// Guarantees: no answer is not taken for a refusal; only a machine on which nothing listens refuses.
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { ClusterError } from './error.js';
import type { Layout } from './layout.js';
import type { CommandText } from './problems.js';
import { readState, runningSupervisor } from './state.js';

/** Throws in words for the person at the terminal when nothing listens where the kubeconfig says. */
export async function requireListener(
  layout: Layout,
  kubeconfig: string,
  command: CommandText,
): Promise<void> {
  const server = serverOf(await readFile(kubeconfig, 'utf8'));
  if (server === undefined || !(await refuses(server.hostname, Number(server.port)))) return;
  if (runningSupervisor(await readState(layout)) === undefined)
    throw new ClusterError(
      'NOT_RUNNING',
      `the cluster in ${layout.dataDir} is not running; start it with "${command('up')}"`,
    );
  throw new ClusterError(
    'NOT_RUNNING',
    `the control plane of the cluster in ${layout.dataDir} does not listen at ${server.host}; it may be starting: ` +
      `see it with "${command('status')}" and "${command('logs')}"`,
  );
}

/** Undefined for one that somebody has rewritten by hand: kubectl then tells what it finds. */
function serverOf(kubeconfig: string): URL | undefined {
  try {
    return new URL(JSON.parse(kubeconfig).clusters[0].cluster.server);
  } catch {
    return undefined;
  }
}

function refuses(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}
