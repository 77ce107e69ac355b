// `trellis kubeconfig` and `trellis kubectl`: the way to the cluster for stock tools.
// Guarantees: kubectl is the stock one, run with the cluster's kubeconfig; its exit code is ours.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { ClusterError } from '../../cluster/error.js';
import type { Layout } from '../../cluster/layout.js';
import { findProgram } from '../../cluster/preflight.js';
import type { Terminal } from '../terminal.js';
import { type DataDirOption, existingLayout, reporting, withDataDir } from './options.js';

export function kubeconfigCommand(terminal: Terminal): Command {
  return withDataDir(new Command('kubeconfig'))
    .summary("print the path of the administrator's kubeconfig")
    .description(
      "Prints the path of the administrator's kubeconfig, for KUBECONFIG or --kubeconfig of other tools.",
    )
    .addHelpText('after', '\nExample:\n  export KUBECONFIG=$(trellis kubeconfig)\n')
    .action((flags: DataDirOption) =>
      reporting(terminal, async () => terminal.write(`${kubeconfigOf(existingLayout(flags))}\n`)),
    );
}

export function kubectlCommand(terminal: Terminal): Command {
  return withDataDir(new Command('kubectl'))
    .summary('run kubectl against the cluster')
    .description(
      'Runs the kubectl of this machine against the cluster. --data-dir comes before the words for kubectl.',
    )
    .argument('[words...]', 'what to say to kubectl')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action((words: string[], flags: DataDirOption) =>
      reporting(terminal, async () => terminal.setExitCode(await kubectl(existingLayout(flags), words))),
    );
}

export function kubeconfigOf(layout: Layout): string {
  if (existsSync(layout.adminKubeconfig)) return layout.adminKubeconfig;
  if (existsSync(layout.nodeKubeconfig))
    throw new ClusterError(
      'NOT_RUNNING',
      `this machine is only a node of a cluster, by ${layout.dataDir}; administer it on the machine of its server`,
    );
  throw new ClusterError(
    'NOT_RUNNING',
    `there is no cluster in ${layout.dataDir}; start one with "trellis up", or name its directory with --data-dir`,
  );
}

async function kubectl(layout: Layout, words: readonly string[]): Promise<number> {
  const program = findProgram('kubectl');
  if (program === undefined) {
    throw new ClusterError(
      'MISSING_PROGRAM',
      'kubectl was not found in PATH; install it, on Debian with "apt-get install kubernetes-client"',
    );
  }
  const child = spawn(program, words, {
    stdio: 'inherit',
    env: { ...process.env, KUBECONFIG: kubeconfigOf(layout) },
  });
  // The terminal sends Ctrl-C to both; kubectl decides what it means.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
  });
}
