// The `trellis` command line: its commands, help and errors.
// Guarantees: never ends the process; a wrong command line gives exit code 2 and says what to type instead.
import { Command, CommanderError } from 'commander';
import { cniCommand } from './cni/command.js';
import { doctorCommand } from './doctor.js';
import type { Terminal } from './terminal.js';
import { trellisVersion } from './version.js';

const USAGE_ERROR = 2;

const EXPLANATION = `
Start here:
  trellis doctor             see whether this machine has what Trellis needs
  trellis doctor --help      what the answers mean
  trellis cni --help         put containers on networks by CNI plugins

More commands arrive as the parts are built; the README says which exist.
`;

export function createProgram(terminal: Terminal): Command {
  const program = new Command('trellis')
    .description('A Kubernetes node and a light control plane for Linux.')
    .version(trellisVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', EXPLANATION);
  program.addCommand(doctorCommand(terminal));
  program.addCommand(cniCommand(terminal));
  govern(program, terminal, 'trellis');
  return program;
}

/** The same manners for a command and all below it. */
function govern(command: Command, terminal: Terminal, words: string): void {
  command
    .exitOverride()
    .showHelpAfterError(`Run "${words} --help" for what can be typed.`)
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.writeError(text),
    });
  for (const child of command.commands) govern(child, terminal, `${words} ${child.name()}`);
}

/** Runs one command line (without `node` and the script). */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<void> {
  const program = createProgram(terminal);
  if (args.length === 0) {
    program.outputHelp();
    return;
  }
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) terminal.setExitCode(USAGE_ERROR);
  }
}
