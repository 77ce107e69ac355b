// `trellis down`: ends a cluster and removes every trace of it but its data; with --purge that too.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { requireRoot } from '../../cluster/preflight.js';
import type { Terminal } from '../terminal.js';
import { installationRoot } from '../version.js';
import { type DataDirOption, existingLayout, reporting, withDataDir } from './options.js';
import { duration } from './view.js';

const EXPLANATION = `
Ends the processes and containers of the cluster and removes its mounts, control groups, network devices, rules and
run-time files. It needs only the data directory, so it also works after every process was killed. Nothing that
Trellis did not create is touched.
`;

export function downCommand(terminal: Terminal): Command {
  return withDataDir(new Command('down'))
    .summary('end a cluster and remove what it created')
    .description(
      'Ends a cluster and removes everything it created on this machine. The data stays unless --purge is given.',
    )
    .option('--purge', 'also remove the data directory: objects, certificates, images and logs')
    .addHelpText('after', EXPLANATION)
    .action((flags: DataDirOption & { purge?: boolean }) =>
      reporting(terminal, async () => {
        requireRoot('down');
        const started = performance.now();
        const { down } = await import('../../cluster/down.js');
        const layout = existingLayout(flags);
        const purge = flags.purge === true;
        const wasThere = existsSync(layout.dataDir) || existsSync(layout.runDir);
        await down({ layout, purge, cniBinDir: path.join(installationRoot(), 'dist', 'cni') });
        if (!wasThere)
          return terminal.write(`There is no cluster in ${layout.dataDir}, and no trace of one.\n`);
        const kept = purge ? 'nothing is left of it' : `its data stays in ${layout.dataDir}`;
        return terminal.write(`The cluster is down; ${kept} (${duration(performance.now() - started)}).\n`);
      }),
    );
}
