// `trellis kubelet`: the kubelet alone, with the flag names of its Kubernetes namesake.
// Guarantees: a wrong flag or field ends it with its name and what to do before anything is touched; TERM leaves every pod running.
import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { FIELDS } from '../kubelet/configuration/fields.js';
import { boolean } from '../kubelet/configuration/values.js';
import { levelOf, makeLog } from './log.js';
import { switchOption } from './stock/booleans.js';
import { withFixedFlags } from './stock/fixedFlags.js';
import { KUBELET } from './stock/kubelet.js';
import { withComponentFlags } from './stock/sharedFlags.js';
import { withVersionFlag } from './stock/versionFlag.js';
import type { Terminal } from './terminal.js';

const EXPLANATION = `
Examples:
  trellis kubelet --kubeconfig /etc/kubernetes/kubelet.conf --config /var/lib/kubelet/config.yaml
  trellis kubelet --pod-manifest-path /etc/kubernetes/manifests     static pods only, without an apiserver
`;

/** What the file has no field for. */
const FLAGS_ALONE: Readonly<Record<string, string>> = {
  'hostname-override': 'name of the node (default: the host name in lower case)',
  'node-ip': 'addresses of the node, one per family, separated by a comma',
  'node-labels': 'labels of the node when it registers, as key=value,...',
  'root-dir': 'directory of volumes and pod files (default: /var/lib/kubelet)',
  'cert-dir': 'directory of certificates (default: /var/lib/kubelet/pki)',
};

/** As they were typed; switches as what they come to. */
type FieldFlags = Readonly<Record<string, string | boolean | number>>;

interface OwnFlags {
  readonly kubeconfig?: string;
  readonly bootstrapKubeconfig?: string;
  readonly config?: string;
  readonly v?: number;
}

export function kubeletCommand(terminal: Terminal): Command {
  const command = new Command('kubelet')
    .summary('run a kubelet alone')
    .description('Runs the pods of one node. Without a kubeconfig: static pods only.')
    .option('--kubeconfig <file>', 'API server and credentials')
    .option(
      '--bootstrap-kubeconfig <file>',
      'used to request the first certificate; the kubelet then writes --kubeconfig',
    )
    .option('--config <file>', 'a KubeletConfiguration (kubelet.config.k8s.io/v1beta1); flags override it')
    .addHelpText('after', EXPLANATION);
  for (const { flag, path, kind } of FIELDS) {
    if (flag === undefined || flag === 'logging-format') continue;
    const description = path === undefined ? (FLAGS_ALONE[flag] ?? '') : `overrides ${path} of the file`;
    const isSwitch = kind === boolean;
    command.addOption(
      isSwitch ? switchOption(flag, description) : new Option(`--${flag} <value>`, description),
    );
  }
  withFixedFlags(withComponentFlags(withVersionFlag(command, terminal)), KUBELET);
  return command.action((flags: OwnFlags & FieldFlags) => run(terminal, flags));
}

async function run(terminal: Terminal, flags: OwnFlags & FieldFlags): Promise<void> {
  const { readSettings } = await import('../kubelet/configuration/configuration.js');
  const { KubeletError } = await import('../kubelet/error.js');
  try {
    const text = flags.config === undefined ? undefined : await readFile(flags.config, 'utf8');
    const settings = readSettings({
      file: text === undefined ? undefined : { name: flags.config ?? '', text },
      flags: typed(flags),
    });
    const { runStandalone } = await import('../kubelet/standalone.js');
    const ending = new AbortController();
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => ending.abort());
    const { loggingFormat: format, logVerbosity } = settings.server;
    const log = makeLog({ component: 'kubelet', level: levelOf(flags.v ?? logVerbosity), format });
    const { kubeconfig, bootstrapKubeconfig } = flags;
    if (bootstrapKubeconfig !== undefined && kubeconfig === undefined)
      throw new KubeletError(
        'InvalidConfig',
        '--bootstrap-kubeconfig also needs --kubeconfig, the file to write',
      );
    const { setOomScoreAdj } = await import('../kernel/oomScore.js');
    await setOomScoreAdj(settings.server.oomScoreAdj, log);
    await runStandalone({ settings, kubeconfig, bootstrapKubeconfig, signal: ending.signal, log });
    process.exit(0);
  } catch (error) {
    const isPlain = error instanceof KubeletError || (error as NodeJS.ErrnoException).code !== undefined;
    if (!isPlain) throw error;
    terminal.writeError(`trellis kubelet: ${(error as Error).message}\n`);
    terminal.setExitCode(1);
  }
}

/** What was typed, by the names of the flags. */
function typed(flags: FieldFlags): Record<string, string> {
  const camel = (flag: string) => flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    FIELDS.flatMap(({ flag }) => {
      const value = flag === undefined ? undefined : flags[camel(flag)];
      return flag === undefined || value === undefined ? [] : [[flag, String(value)]];
    }),
  );
}
