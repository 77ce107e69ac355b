// `trellis status`: the components of a cluster, its node, and what to do when something is wrong.
import { Command, Option } from 'commander';
import type { Layout } from '../../cluster/layout.js';
import type { ClusterStatus } from '../../cluster/status.js';
import type { Terminal } from '../terminal.js';
import { type DataDirOption, existingLayout, reporting, withDataDir } from './options.js';

const MEGABYTE = 1_000_000;

export function statusCommand(terminal: Terminal): Command {
  return withDataDir(new Command('status'))
    .summary('show what runs of a cluster')
    .description('Shows the processes of a cluster with their memory, its node and its pods.')
    .addOption(
      new Option('-o, --output <format>', 'how to show it').choices(['table', 'json']).default('table'),
    )
    .addHelpText('after', '\nExit code: 0 when everything runs and the node is Ready, 1 otherwise.\n')
    .action((flags: DataDirOption & { output: 'table' | 'json' }) =>
      reporting(terminal, async () => {
        const { clusterStatus, isHealthy } = await import('../../cluster/status.js');
        const layout = existingLayout(flags);
        const status = await clusterStatus(layout);
        terminal.write(
          flags.output === 'json' ? `${JSON.stringify(status, null, 2)}\n` : render(status, layout),
        );
        if (!isHealthy(status)) terminal.setExitCode(1);
      }),
    );
}

export function render(status: ClusterStatus, layout: Pick<Layout, 'logDir'>): string {
  if (!status.exists) return `There is no cluster in ${status.dataDir}. Start one with: trellis up\n`;
  const components = status.components.map(({ name, pid, residentBytes }) =>
    pid === undefined
      ? `  ${name.padEnd(12)} not running`
      : `  ${name.padEnd(12)} process ${String(pid).padEnd(8)} ${((residentBytes ?? 0) / MEGABYTE).toFixed(0).padStart(5)} MB`,
  );
  const nodes = status.nodes.map(
    ({ name, ready, message }) => `  node ${name}: ${ready ? 'Ready' : `not Ready: ${message}`}`,
  );
  return `${[
    status.joined === undefined
      ? `Cluster in ${status.dataDir}`
      : `Node of ${status.joined}, in ${status.dataDir}`,
    ...(components.length === 0
      ? [`  nothing runs; start it with: trellis ${status.joined === undefined ? 'up' : 'agent'}`]
      : components),
    ...nodes,
    ...(status.nodes.length > 0 ? [`  pods: ${status.pods.running} running of ${status.pods.total}`] : []),
    ...(status.unreachable === undefined || components.length === 0
      ? []
      : [`  the apiserver does not answer: ${status.unreachable}`, `  its log is in ${layout.logDir}`]),
  ].join('\n')}\n`;
}
