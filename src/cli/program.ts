// The `trellis` command line: its commands, help and errors.
// Guarantees: never ends the process; a wrong command line gives exit code 2 and says what to type instead.
import { Command, CommanderError, Help, type Option } from 'commander';
import type { Terminal } from './terminal.js';
import { trellisVersion } from './version.js';

type MakeCommand = (terminal: Terminal) => Command;

/** Each loaded when it is typed, or for the help: what a cluster starts keeps in memory only what it runs. */
const COMMANDS: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  up: async () => (await import('./cluster/up.js')).upCommand,
  down: async () => (await import('./cluster/down.js')).downCommand,
  status: async () => (await import('./cluster/status.js')).statusCommand,
  logs: async () => (await import('./cluster/logs.js')).logsCommand,
  kubeconfig: async () => (await import('./cluster/kubectl.js')).kubeconfigCommand,
  kubectl: async () => (await import('./cluster/kubectl.js')).kubectlCommand,
  server: async () => (await import('./cluster/up.js')).serverCommand,
  agent: async () => (await import('./cluster/agent.js')).agentCommand,
  token: async () => (await import('./cluster/token.js')).tokenCommand,
  install: async () => (await import('./cluster/install.js')).installCommand,
  snapshot: async () => (await import('./snapshot.js')).snapshotCommand,
  apiserver: async () => (await import('./apiserver/command.js')).apiserverCommand,
  scheduler: async () => (await import('./scheduler.js')).schedulerCommand,
  proxy: async () => (await import('./proxy.js')).proxyCommand,
  'network-policy': async () => (await import('./networkPolicy.js')).networkPolicyCommand,
  policy: async () => (await import('./networkPolicy.js')).policyCommand,
  kubelet: async () => (await import('./kubelet.js')).kubeletCommand,
  'controller-manager': async () => (await import('./controllerManager/command.js')).controllerManagerCommand,
  doctor: async () => (await import('./doctor.js')).doctorCommand,
  bench: async () => (await import('./bench.js')).benchCommand,
  cni: async () => (await import('./cni/command.js')).cniCommand,
  version: async () => (await import('./versionCommand.js')).versionCommand,
};

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

/** The command that the first word names, or all of them where it names none. */
export async function loadCommands(word: string): Promise<readonly MakeCommand[]> {
  const names = Object.hasOwn(COMMANDS, word) ? [word] : Object.keys(COMMANDS);
  const makers = await Promise.all(names.map((name) => COMMANDS[name]?.()));
  return makers.filter((make) => make !== undefined);
}

export function createProgram(terminal: Terminal, commands: readonly MakeCommand[]): Command {
  const program = new Command('trellis')
    .description('A Kubernetes node and a light control plane for Linux.')
    .version(trellisVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    // Words after a command belong to it: "trellis kubectl get -A" leaves -A to kubectl.
    .enablePositionalOptions()
    .addHelpText('after', EXPLANATION);
  for (const make of commands) program.addCommand(make(terminal));
  govern(program, terminal, 'trellis');
  return program;
}

/** A switch alone is true; that need not be said of each. */
const described = (option: Option): string =>
  new Help()
    .optionDescription(option)
    .replace(/ \(preset: "true"\)$/, '')
    .replace(/, preset: "true"\)$/, ')');

/** The same manners for a command and all below it. */
function govern(command: Command, terminal: Terminal, words: string): void {
  command
    .exitOverride()
    .configureHelp({ optionDescription: described })
    .showHelpAfterError(`Run "${words} --help" for usage.`)
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.writeError(text),
    });
  for (const child of command.commands) govern(child, terminal, `${words} ${child.name()}`);
}

/** Runs one command line (without `node` and the script). */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<void> {
  const program = createProgram(terminal, await loadCommands(args[0] ?? ''));
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
