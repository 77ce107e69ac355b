// `trellis snapshot`: the cluster's state as one file, from and to LMDB and etcd.
// Guarantees: what goes wrong is one sentence and exit code 1; nothing is replaced without --force.
import { Command } from 'commander';
import { ClusterError } from '../cluster/error.js';
import { StoreError } from '../store/store.js';
import { withDataDir, withEtcd } from './cluster/options.js';
import type { PlaceFlags } from './snapshotActions.js';
import type { Terminal } from './terminal.js';

const EXPLANATION = `
A snapshot holds every object with its revision. It can be taken from a running cluster; to restore one, stop the
cluster first. Restored to etcd, objects get new revisions, as etcd numbers its own writes.

Examples:
  trellis snapshot save cluster.snapshot
  trellis snapshot status cluster.snapshot
  trellis snapshot restore cluster.snapshot --data-dir /var/lib/trellis --force
  trellis snapshot restore cluster.snapshot --etcd-servers https://10.0.0.1:2379,https://10.0.0.2:2379 \\
    --etcd-cafile ca.crt --etcd-certfile client.crt --etcd-keyfile client.key
`;

export function snapshotCommand(terminal: Terminal): Command {
  const save = withPlace(new Command('save'))
    .argument('<file>', 'the snapshot to write')
    .summary('write the state of a cluster to a file')
    .option('--force', 'replace an existing file')
    .action((file: string, flags: PlaceFlags) =>
      reporting(terminal, async () => (await actions()).save(terminal, file, flags)),
    );
  const restore = withPlace(new Command('restore'))
    .argument('<file>', 'the snapshot to read')
    .summary('restore the state of a cluster from a file')
    .option('--force', 'replace existing data')
    .action((file: string, flags: PlaceFlags) =>
      reporting(terminal, async () => (await actions()).restore(terminal, file, flags)),
    );
  const status = new Command('status')
    .argument('<file>', 'the snapshot to check')
    .summary('check a file and show its content')
    .action((file: string) => reporting(terminal, async () => (await actions()).status(terminal, file)));
  const command = new Command('snapshot')
    .summary('save and restore the state of a cluster')
    .description('Saves the state of a cluster to one file, restores it, and moves it between LMDB and etcd.')
    .addHelpText('after', EXPLANATION);
  for (const child of [save, restore, status]) command.addCommand(child);
  return command;
}

/** Loaded only when it is wanted: other commands need neither LMDB nor gRPC. */
const actions = () => import('./snapshotActions.js');

function withPlace(command: Command): Command {
  return withEtcd(withDataDir(command));
}

async function reporting(terminal: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isOfDisk = (error as NodeJS.ErrnoException).syscall !== undefined;
    const isRefusal = error instanceof StoreError || error instanceof ClusterError;
    if (!isRefusal && !isOfDisk) throw error;
    terminal.writeError(`trellis: ${(error as Error).message}\n`);
    terminal.setExitCode(1);
  }
}
