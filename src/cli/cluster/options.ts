// The options that every command about a cluster shares.
import { mkdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { ClusterError } from '../../cluster/error.js';
import { type Layout, layoutOf } from '../../cluster/layout.js';
import type { Terminal } from '../terminal.js';

export const DEFAULT_DATA_DIR = '/var/lib/trellis';

export interface DataDirOption {
  readonly dataDir: string;
}

export function withDataDir(command: Command): Command {
  return command.addOption(
    new Option('--data-dir <dir>', 'where the cluster keeps its data; another directory is another cluster')
      .env('TRELLIS_DATA_DIR')
      .default(DEFAULT_DATA_DIR),
  );
}

/** By kube-apiserver's names. */
export function withEtcd(command: Command): Command {
  return command
    .option('--etcd-servers <urls>', 'the store is etcd at these addresses, with commas between')
    .option('--etcd-cafile <file>', 'the authority of the certificates of etcd')
    .option('--etcd-certfile <file>', 'our certificate for etcd')
    .option('--etcd-keyfile <file>', 'its key');
}

/** The layout of a directory that must be there already. */
export function existingLayout({ dataDir }: DataDirOption): Layout {
  try {
    return layoutOf(realpathSync(dataDir));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    // What is gone from the disk may still have left traces on the machine under the same name.
    return layoutOf(path.resolve(dataDir));
  }
}

export function makeLayout({ dataDir }: DataDirOption): Layout {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  return layoutOf(realpathSync(dataDir));
}

/** Shows a ClusterError as one sentence and sets the exit code; everything else is a bug and is thrown on. */
export async function reporting(terminal: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    terminal.writeError(`trellis: ${error.message}\n`);
    terminal.setExitCode(1);
  }
}
