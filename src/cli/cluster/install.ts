// `trellis install`: runs `up`, `server` or `agent` as a service of systemd.
// Guarantees: what the service will be told is checked before anything is written; a token is not in the unit.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Argument, Command } from 'commander';
import { ClusterError } from '../../cluster/error.js';
import { TOKEN_VARIABLE } from '../../cluster/join/token.js';
import { layoutOf } from '../../cluster/layout.js';
import { requireRoot } from '../../cluster/preflight.js';
import {
  environmentFile,
  install,
  ROLES,
  type Role,
  type SystemdPlace,
  uninstall,
  unitText,
} from '../../cluster/systemd.js';
import type { Terminal } from '../terminal.js';
import { agentCommand } from './agent.js';
import { DATA_DIR_VARIABLE, reporting } from './options.js';
import { argumentsToPass } from './running.js';
import { serverCommand, upCommand } from './up.js';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));
const COMMANDS: Readonly<Record<Role, (terminal: Terminal) => Command>> = {
  up: upCommand,
  server: serverCommand,
  agent: agentCommand,
};
/** Options that name files: the service starts elsewhere. */
const FILES = [
  '--config',
  '--data-dir',
  '--token-file',
  '--ca-file',
  '--etcd-cafile',
  '--etcd-certfile',
  '--etcd-keyfile',
];
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const EXPLANATION = `
The service starts at boot and restarts whenever it ends. Pods keep running across a restart; "trellis down" ends them.
Options after the name of the command are passed to it; options of "install" itself come before. The unit names the data
directory if --data-dir or TRELLIS_DATA_DIR does.

Examples:
  trellis install server --tls-san k8s.example.org
  trellis install agent --server https://10.0.0.1:6443 --token abcdef.0123456789abcdef --ca-cert-hash sha256:...
  trellis install --dry-run up                  prints the unit and changes nothing
  trellis install --remove                      removes the services; data and pods stay
`;

interface InstallFlags {
  readonly dryRun?: boolean;
  readonly remove?: boolean;
}

export function installCommand(terminal: Terminal): Command {
  return new Command('install')
    .summary('run up, server or agent as a systemd service')
    .description(
      'Installs "trellis up", "trellis server" or "trellis agent" as a systemd service and starts it.',
    )
    .addArgument(new Argument('[command]', 'command that the service runs').choices(ROLES))
    .argument('[words...]', 'its options')
    .option('--dry-run', 'print the unit and change nothing')
    .option('--remove', 'stop the service, or all of them, and remove it')
    .allowUnknownOption()
    .passThroughOptions()
    .addHelpText('after', EXPLANATION)
    .action((role: Role | undefined, words: string[], flags: InstallFlags) =>
      reporting(terminal, () => run(terminal, role, words, flags)),
    );
}

async function run(
  terminal: Terminal,
  role: Role | undefined,
  words: readonly string[],
  flags: InstallFlags,
): Promise<void> {
  if (flags.remove === true) {
    requireSystemd();
    const gone = await uninstall(role === undefined ? ROLES : [role], SYSTEM);
    terminal.write(
      gone.length === 0 ? 'There was no service of Trellis.\n' : `Removed ${gone.join(', ')}.\n`,
    );
    return;
  }
  if (role === undefined)
    throw new ClusterError('BAD_OPTION', `no command for the service; give one of ${ROLES.join(', ')}`);
  const options = serviceOf(terminal, role, words);
  if (flags.dryRun === true) {
    terminal.write(unitText(options, environmentFile(role, SYSTEM)));
    return;
  }
  requireSystemd();
  if (role === 'agent') requireJoinable(options, words);
  const file = await install(options, SYSTEM);
  const unit = path.basename(file, '.service');
  terminal.write(`${file} is installed and started. Look at it with: systemctl status ${unit}\n`);
}

function serviceOf(terminal: Terminal, role: Role, words: readonly string[]) {
  const command = COMMANDS[role](terminal).exitOverride();
  const { unknown, operands } = command.parseOptions([...words]);
  const [wrong] = [...unknown, ...operands];
  const given = command.opts<{ dataDir: string; token?: string; detach?: boolean }>();
  if (wrong !== undefined || given.detach === true)
    throw new ClusterError(
      'BAD_OPTION',
      `"${wrong ?? '--detach'}" is not an option for a service; see "trellis ${role} --help"`,
    );
  const token = given.token ?? process.env[TOKEN_VARIABLE];
  // The service has another environment: a directory that is only named there would be lost.
  const inherited = process.env[DATA_DIR_VARIABLE];
  const isTold = command.getOptionValueSource('dataDir') === 'cli';
  const directory = isTold || !inherited ? [] : ['--data-dir', inherited];
  const told = withWholePaths([...directory, ...argumentsToPass(words)]);
  return {
    role,
    command: [process.execPath, MAIN, role, ...told],
    dataDir: path.resolve(directory[1] ?? given.dataDir),
    searchPath: `${path.dirname(process.execPath)}:${SYSTEM_PATH}`,
    environment: role === 'agent' && token !== undefined ? { [TOKEN_VARIABLE]: token } : {},
  };
}

/** A service that can never start is refused while somebody looks on. */
function requireJoinable(
  { dataDir, environment }: { dataDir: string; environment: Readonly<Record<string, string>> },
  words: readonly string[],
): void {
  const isTold = (...flags: string[]) => words.some((word) => flags.includes(word.split('=')[0] ?? ''));
  const hasToken = isTold('--token', '--token-file') || environment[TOKEN_VARIABLE] !== undefined;
  if ((isTold('--server', '--config') && hasToken) || existsSync(layoutOf(dataDir).nodeKubeconfig)) return;
  throw new ClusterError(
    'BAD_OPTION',
    `${dataDir} has not joined a cluster yet; give --server and a token (--token, --token-file or ${TOKEN_VARIABLE}). ` +
      'The server prints the command with "trellis token create --print-join-command"',
  );
}

export function withWholePaths(words: readonly string[]): string[] {
  return words.map((word, i) => {
    if (FILES.includes(words[i - 1] ?? '')) return path.resolve(word);
    const [, flag = '', file = ''] = /^(--[a-z-]+)=(.+)$/.exec(word) ?? [];
    return FILES.includes(flag) ? `${flag}=${path.resolve(file)}` : word;
  });
}

function requireSystemd(): void {
  requireRoot('install');
  // As sd_booted(3) asks.
  if (existsSync('/run/systemd/system')) return;
  throw new ClusterError(
    'MISSING_PROGRAM',
    'this machine was not started by systemd; "trellis install --dry-run" prints the unit for use elsewhere',
  );
}

const SYSTEM: SystemdPlace = {
  unitDir: '/etc/systemd/system',
  environmentDir: '/etc/trellis',
  async systemctl(...words) {
    try {
      await promisify(execFile)('systemctl', words);
    } catch (cause) {
      const said = (cause as { stderr?: string }).stderr?.trim() || String(cause);
      throw new ClusterError('COMPONENT_FAILED', `systemctl ${words.join(' ')}: ${said}`, { cause });
    }
  },
};
