// The `trellis` command line: its commands, help and errors.
// Guarantees: never ends the process; a wrong command line gives exit code 2 and says what to type instead.
import { Command, CommanderError } from 'commander';
import { apiserverCommand } from './apiserver/command.js';
import { benchCommand } from './bench.js';
import { agentCommand } from './cluster/agent.js';
import { downCommand } from './cluster/down.js';
import { installCommand } from './cluster/install.js';
import { kubeconfigCommand, kubectlCommand } from './cluster/kubectl.js';
import { logsCommand } from './cluster/logs.js';
import { statusCommand } from './cluster/status.js';
import { tokenCommand } from './cluster/token.js';
import { serverCommand, upCommand } from './cluster/up.js';
import { cniCommand } from './cni/command.js';
import { controllerManagerCommand } from './controllerManager/command.js';
import { doctorCommand } from './doctor.js';
import { kubeletCommand } from './kubelet.js';
import { proxyCommand } from './proxy.js';
import { schedulerCommand } from './scheduler.js';
import { snapshotCommand } from './snapshot.js';
import type { Terminal } from './terminal.js';
import { trellisVersion } from './version.js';

const USAGE_ERROR = 2;

const EXPLANATION = `
Start here:
  trellis up                 start a cluster on this machine; Ctrl-C ends it
  trellis kubectl get nodes  talk to it with the kubectl of this machine
  trellis down               end it and remove what it made
  trellis token --help       let other machines join it as nodes
  trellis apiserver --help   run the API server alone, with kube-apiserver's flags
  trellis snapshot --help    save and restore the state of a cluster
  trellis doctor             see whether this machine has what Trellis needs
  trellis cni --help         put containers on networks by CNI plugins
`;

export function createProgram(terminal: Terminal): Command {
  const program = new Command('trellis')
    .description('A Kubernetes node and a light control plane for Linux.')
    .version(trellisVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    // Words after a command belong to it: "trellis kubectl get -A" leaves -A to kubectl.
    .enablePositionalOptions()
    .addHelpText('after', EXPLANATION);
  for (const command of [
    upCommand,
    downCommand,
    statusCommand,
    logsCommand,
    kubeconfigCommand,
    kubectlCommand,
    serverCommand,
    agentCommand,
    tokenCommand,
    installCommand,
  ])
    program.addCommand(command(terminal));
  program.addCommand(snapshotCommand(terminal));
  program.addCommand(apiserverCommand(terminal));
  program.addCommand(schedulerCommand(terminal));
  program.addCommand(proxyCommand(terminal));
  program.addCommand(kubeletCommand(terminal));
  program.addCommand(controllerManagerCommand(terminal));
  program.addCommand(doctorCommand(terminal));
  program.addCommand(benchCommand(terminal));
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
