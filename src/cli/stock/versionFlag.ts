// `--version` of a component, as its Kubernetes namesake prints it.
// Guarantees: nothing is started when it is asked for.
import { type Command, CommanderError, Option } from 'commander';
import { gitVersion } from '../../api/build.js';
import type { Terminal } from '../terminal.js';
import { trellisBuild } from '../version.js';
import { boolean } from './booleans.js';

export function withVersionFlag(command: Command, terminal: Terminal): Command {
  const option = new Option(
    '--version [bool]',
    'print the version of Kubernetes that it implements, and exit',
  );
  return command.addOption(option.preset('true')).on('option:version', (text: string | null) => {
    if (text !== null && text !== 'raw' && !boolean(text)) return;
    terminal.write(`Kubernetes ${gitVersion(trellisBuild())}\n`);
    throw new CommanderError(0, 'commander.version', 'version');
  });
}
