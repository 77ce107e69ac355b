// `trellis cni install`: our plugins to where runtimes look for them.
// Guarantees: says what it did to each file; a plugin of another owner stays unless it is told otherwise.
import path from 'node:path';
import { Command } from 'commander';
import { DEFAULT_BIN_DIR } from '../../cni/cni.js';
import { installPlugins } from '../../cni/install.js';
import type { Terminal } from '../terminal.js';
import { installationRoot } from '../version.js';
import { reporting } from './report.js';

interface InstallCommandOptions {
  readonly dir: string;
  readonly from?: string;
  readonly force?: true;
}

export function installCommand(terminal: Terminal): Command {
  return new Command('install')
    .summary('copy the CNI plugins of Trellis to the directory that runtimes search')
    .description('Copies the CNI plugins of Trellis, one executable and a link for each plugin.')
    .option('--dir <dir>', 'target directory', DEFAULT_BIN_DIR)
    .option('--from <dir>', 'source directory (default: the output of the build)')
    .option('--force', 'also replace plugins from other projects')
    .action(
      reporting(terminal, async ({ dir, from, force }: InstallCommandOptions) => {
        const to = path.resolve(dir);
        const source = path.resolve(from ?? path.join(installationRoot(), 'dist', 'cni'));
        const files = await installPlugins({ from: source, to, force: force === true });
        for (const { name, action, link } of files)
          terminal.write(
            `${action.padEnd(9)} ${path.join(to, name)}${link === undefined ? '' : ` -> ${link}`}\n`,
          );
      }),
    );
}
