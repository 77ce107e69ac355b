// `trellis kubeconfig` and `trellis kubectl`: the way to the cluster for stock tools.
// Guarantees: kubectl is the stock one, run with the cluster's kubeconfig; its exit code is ours. A cluster that is down
// is told as such, with how to start it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Command, Option } from 'commander';
import { ClusterError } from '../../cluster/error.js';
import type { Layout } from '../../cluster/layout.js';
import { findProgram } from '../../cluster/preflight.js';
import { requireListener } from '../../cluster/reachable.js';
import type { Terminal } from '../terminal.js';
import {
  commandText,
  type DataDirOption,
  DEFAULT_DATA_DIR,
  existingLayout,
  reporting,
  withDataDir,
} from './options.js';

const KUBECONFIG_EXAMPLES = `
Your own kubeconfig is the first file of KUBECONFIG, or ~/.kube/config. It is changed on request only: the cluster becomes
its context "trellis" (of a directory that is not the default one: "trellis-<id>"), and the current one.

Examples:
  export KUBECONFIG=$(trellis kubeconfig)       for this shell
  trellis kubeconfig --merge                    into your own; --unmerge takes it out again
  trellis kubeconfig --merge /home/me/.kube/config
`;

interface KubeconfigFlags extends DataDirOption {
  readonly merge?: string | true;
  readonly unmerge?: string | true;
}

export function kubeconfigCommand(terminal: Terminal): Command {
  return withDataDir(new Command('kubeconfig'))
    .summary("print the path of the administrator's kubeconfig, or merge it into yours")
    .description(
      "Prints the path of the administrator's kubeconfig, for KUBECONFIG or --kubeconfig of other tools.",
    )
    .option('--merge [file]', 'add the cluster to your own kubeconfig, or to this file')
    .addOption(new Option('--unmerge [file]', 'remove it from there').conflicts('merge'))
    .addHelpText('after', KUBECONFIG_EXAMPLES)
    .action((flags: KubeconfigFlags) =>
      reporting(terminal, async () => {
        const layout = existingLayout(flags);
        if (flags.merge === undefined && flags.unmerge === undefined)
          return terminal.write(`${kubeconfigOf(layout)}\n`);
        return terminal.write(await changeUsers(layout, flags));
      }),
    );
}

/** Answers what was done. */
async function changeUsers(layout: Layout, { dataDir, merge, unmerge }: KubeconfigFlags): Promise<string> {
  const { changeKubeconfig, userKubeconfig, withCluster, withoutCluster } = await import(
    '../../cluster/userKubeconfig.js'
  );
  const given = merge ?? unmerge;
  const file = typeof given === 'string' ? path.resolve(given) : userKubeconfig();
  const name = dataDir === DEFAULT_DATA_DIR ? 'trellis' : `trellis-${layout.id}`;
  if (merge === undefined) {
    await changeKubeconfig(file, (text) => withoutCluster(text, name));
    return `The context "${name}" is no longer in ${file}.\n`;
  }
  const own = await readFile(kubeconfigOf(layout), 'utf8');
  await changeKubeconfig(file, (text) => withCluster(text, own, name));
  return `The context "${name}" is in ${file}, and the current one. Try: kubectl get nodes\n`;
}

export function kubectlCommand(terminal: Terminal): Command {
  return withDataDir(new Command('kubectl'))
    .summary('run kubectl against the cluster')
    .description(
      'Runs the kubectl of this machine against the cluster. --data-dir comes before the arguments for kubectl.',
    )
    .argument('[words...]', 'arguments for kubectl')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action((words: string[], flags: DataDirOption) =>
      reporting(terminal, async () => terminal.setExitCode(await kubectl(flags, words))),
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

/** What kubectl does without a server, or with another one. */
const LOCAL = ['help', 'config', 'completion', 'options', 'plugin', 'kustomize'];
const LOCAL_FLAGS =
  /^(-h|--help|--client(=true)?|--dry-run=client|-s|--(server|kubeconfig|context|cluster)(=.*)?)$/;
const asksServer = (words: readonly string[]) =>
  words.length > 0 && !LOCAL.includes(words[0] ?? '') && !words.some((word) => LOCAL_FLAGS.test(word));

async function kubectl(flags: DataDirOption, words: readonly string[]): Promise<number> {
  const layout = existingLayout(flags);
  const kubeconfig = kubeconfigOf(layout);
  const program = findProgram('kubectl');
  if (program === undefined) {
    throw new ClusterError(
      'MISSING_PROGRAM',
      'kubectl was not found in PATH; install it, on Debian with "apt-get install kubernetes-client"',
    );
  }
  if (asksServer(words)) await requireListener(layout, kubeconfig, commandText(flags));
  const child = spawn(program, words, {
    stdio: 'inherit',
    env: { ...process.env, KUBECONFIG: kubeconfig },
  });
  // The terminal sends Ctrl-C to both; kubectl decides what it means.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
  });
}
