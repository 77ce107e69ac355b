// `trellis version`: which Trellis this is, the Kubernetes it speaks, the commit it was built from, and the Node it runs on.
import { Command, Option } from 'commander';
import { type Build, KUBERNETES_VERSION } from '../api/build.js';
import type { Terminal } from './terminal.js';
import { trellisBuild } from './version.js';

export function versionCommand(terminal: Terminal): Command {
  return new Command('version')
    .summary('print version, Kubernetes level, commit and Node')
    .description(
      'Prints the version, the Kubernetes version of the API, the commit, and the version of Node.',
    )
    .addOption(
      new Option('-o, --output <format>', 'how to print it').choices(['text', 'json']).default('text'),
    )
    .action(({ output }: { output: 'text' | 'json' }) => {
      const told = tell(trellisBuild());
      terminal.write(output === 'json' ? `${JSON.stringify(told, null, 2)}\n` : render(told));
    });
}

const tell = ({ version, commit, treeState, date }: Build) => ({
  version,
  kubernetes: KUBERNETES_VERSION,
  commit,
  treeState,
  commitDate: date,
  node: process.version,
});

function render({ version, kubernetes, commit, treeState, node }: ReturnType<typeof tell>): string {
  const changed = treeState === 'dirty' ? ', with changes' : '';
  return [
    `trellis ${version}`,
    `Kubernetes ${kubernetes}`,
    commit === '' ? 'commit unknown' : `commit ${commit}${changed}`,
    `Node ${node}\n`,
  ].join('\n');
}
