// `trellis status`: the components of a cluster, its nodes and pods, what is wrong and what to do about it.
import { Command, Option } from 'commander';
import type { CommandText, Problem } from '../../cluster/problems.js';
import type { ClusterStatus } from '../../cluster/status.js';
import type { Terminal } from '../terminal.js';
import { commandText, type DataDirOption, existingLayout, reporting, withDataDir } from './options.js';

const MEGABYTE = 1_000_000;

export function statusCommand(terminal: Terminal): Command {
  return withDataDir(new Command('status'))
    .summary('show the state of a cluster, what is wrong and what to do about it')
    .description(
      'Shows the processes of a cluster with their memory, its nodes and pods, what is wrong and what to do about it.',
    )
    .addOption(
      new Option('-o, --output <format>', 'output format').choices(['table', 'json']).default('table'),
    )
    .addHelpText('after', '\nExit code: 0 if everything runs and every node is Ready, 1 otherwise.\n')
    .action((flags: DataDirOption & { output: 'table' | 'json' }) =>
      reporting(terminal, async () => {
        const { clusterStatus, isHealthy } = await import('../../cluster/status.js');
        const { problemsOf } = await import('../../cluster/problems.js');
        const layout = existingLayout(flags);
        const status = await clusterStatus(layout);
        const command = commandText(flags);
        const problems = problemsOf(status, command);
        terminal.write(
          flags.output === 'json'
            ? `${JSON.stringify({ ...status, problems }, null, 2)}\n`
            : render(status, problems, command),
        );
        if (!isHealthy(status)) terminal.setExitCode(1);
      }),
    );
}

export function render(status: ClusterStatus, problems: readonly Problem[], command: CommandText): string {
  if (!status.exists) return `There is no cluster in ${status.dataDir}. Start one with: ${command('up')}\n`;
  const components = status.components.map(({ name, pid, residentBytes }) =>
    pid === undefined
      ? `  ${name.padEnd(12)} not running`
      : `  ${name.padEnd(12)} process ${String(pid).padEnd(8)} ${((residentBytes ?? 0) / MEGABYTE).toFixed(0).padStart(5)} MB`,
  );
  const nodes = status.nodes.map(({ name, ready }) => `  node ${name}: ${ready ? 'Ready' : 'not Ready'}`);
  return `${[
    status.joined === undefined
      ? `Cluster in ${status.dataDir}`
      : `Node of ${status.joined}, in ${status.dataDir}`,
    ...components,
    ...nodes,
    ...(status.nodes.length > 0 ? [`  pods: ${status.pods.running} running of ${status.pods.total}`] : []),
    ...problems.flatMap(({ what, fix }) => ['', `  ✗ ${what}`, `    ${fix}`]),
  ].join('\n')}\n`;
}
