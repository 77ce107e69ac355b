// `trellis up`: a cluster on this machine; `trellis server`: its control plane alone, for nodes that join.
import { Command, Option } from 'commander';
import type { ClusterFile } from '../../cluster/configuration.js';
import { requireRoot } from '../../cluster/preflight.js';
import { readSettings, type WantedSettings } from '../../cluster/settings.js';
import { positiveNumber } from '../numbers.js';
import type { Terminal } from '../terminal.js';
import { runSupervised, type SupervisedFlags, withSupervised } from './components.js';
import { CONFIG_EXPLANATION, readConfigFlag, withConfig } from './configFile.js';
import { etcdOf, existingLayout, reporting, withControlPlane, withDataDir, withNode } from './options.js';
import { type Run, type RunFlags, runCluster, withRunning } from './running.js';
import { duration } from './view.js';

interface UpFlags extends RunFlags, WantedSettings {
  readonly nodeIp?: string;
  readonly dualStack?: boolean;
  readonly config?: string;
  /** What --config says of the components. */
  readonly configuration?: ClusterFile | undefined;
  readonly serviceClusterIpRange?: string;
  readonly controlPlaneOnly?: boolean;
  /** The short name of proxyMode. */
  readonly mode?: WantedSettings['proxyMode'];
}

const UP_EXPLANATION = `
The cluster has one node, this machine; with --nodes 3 two more, each with its own network, mounts, processes and
containerd. The count is saved; a lower one removes the highest-numbered nodes. It needs root, containerd and runc.
"trellis down", or Ctrl-C here, removes everything it created except the data, from which the next start continues.
Other machines join with the command that "trellis token create --print-join-command" prints.

Examples:
  trellis up                                    in the foreground; Ctrl-C ends it
  trellis up --detach                           returns when the node is Ready
  trellis up --nodes 3                          three nodes on this machine
  trellis up --etcd-servers https://10.0.0.1:2379 --etcd-cafile ca.crt --etcd-certfile our.crt --etcd-keyfile our.key
  trellis up --data-dir /srv/two --secure-port 7443 --kubelet-port 11250 --kubelet-healthz-port 11248 --dns-port 11053
`;

const SERVER_EXPLANATION = `
Runs the control plane without a node. Machines join it with "trellis agent"; the full command is printed when the
server is ready, and by "trellis token create --print-join-command".

Examples:
  trellis server                                in the foreground; Ctrl-C ends it
  trellis server --detach --tls-san k8s.example.org
`;

export function upCommand(terminal: Terminal): Command {
  return withConfig(withRunning(withNode(withControlPlane(withDataDir(new Command('up'))))))
    .summary('start a cluster on this machine')
    .description('Starts a control plane and a node on this machine, and waits until the node is Ready.')
    .option(
      '--nodes <count>',
      'number of nodes on this machine, itself included (default: 1)',
      positiveNumber,
    )
    .option('--underlay-cidr <cidr>', 'address range of those nodes (default: a free one in 172.30.0.0/16)')
    .option('--control-plane-only', 'no node on this machine, like "trellis server"')
    .addHelpText('after', CONFIG_EXPLANATION + UP_EXPLANATION)
    .action((_: UpFlags, command: Command) =>
      reporting(terminal, async () => {
        requireRoot('up');
        const flags: UpFlags = await readConfigFlag(command);
        await runCluster(terminal, flags, runOf(terminal, flags));
      }),
    );
}

export function serverCommand(terminal: Terminal): Command {
  return withConfig(withSupervised(withRunning(withControlPlane(withDataDir(new Command('server'))))))
    .summary("run a cluster's control plane: store, apiserver, controllers, scheduler")
    .description('Starts a control plane on this machine, and prints how nodes join it.')
    .addOption(
      new Option(
        '--node-ip <address>',
        'address at which nodes reach the server (default: that of the default route)',
      ),
    )
    .addHelpText('after', SERVER_EXPLANATION)
    .action((given: UpFlags & SupervisedFlags, command: Command) =>
      reporting(terminal, async () => {
        requireRoot('server');
        if (given.supervised === true) return runSupervised('server', given);
        const flags: UpFlags = await readConfigFlag(command);
        return runCluster(terminal, flags, runOf(terminal, { ...flags, controlPlaneOnly: true }));
      }),
    );
}

function runOf(terminal: Terminal, flags: UpFlags): Run {
  const { nodeIp, controlPlaneOnly, configuration, serviceClusterIpRange: serviceCidr } = flags;
  const proxyMode = flags.mode ?? flags.proxyMode;
  const wanted = { ...flags, ...etcdOf(flags), serviceCidr, proxyMode };
  return {
    // Loaded by the process that needs it alone.
    prepare: async (options) =>
      (await import('../../cluster/up.js')).prepareUp({
        ...options,
        wanted,
        nodeIp,
        controlPlaneOnly,
        configuration,
      }),
    farewell: (words) =>
      controlPlaneOnly === true ? serverFarewell(terminal, flags, words) : nodeFarewell(flags, words),
  };
}

type Words = Parameters<Run['farewell']>[0];

async function nodeFarewell(flags: UpFlags, { trellis, option, ms }: Words): Promise<string> {
  const { nodes = 1 } = (await readSettings(existingLayout(flags))) ?? {};
  return `\
${nodes === 1 ? 'The node is' : `The ${nodes} nodes are`} Ready after ${duration(ms)}. Try:

  ${trellis} kubectl${option} get nodes
  ${trellis} kubectl${option} create deployment web --image=trellis.local/busybox --replicas=3 -- httpd -f -p 8080 -h /etc
  ${trellis} kubectl${option} expose deployment web --port 80 --target-port 8080
  ${trellis} status${option}
`;
}

async function serverFarewell(
  terminal: Terminal,
  flags: UpFlags,
  { trellis, option, ms }: Words,
): Promise<string> {
  const ready = `The control plane is ready after ${duration(ms)}.`;
  // Nobody types here: a service would leave a secret in its journal at each start.
  if (!terminal.live && flags.detach !== true)
    return `${ready} How machines join: ${trellis} token create${option} --print-join-command\n`;
  const { makeJoinCommand } = await import('./token.js');
  return `\
${ready} On each machine that is to be a node, type within a day:

  ${await makeJoinCommand(flags, trellis)}

Then, here:

  ${trellis} kubectl${option} get nodes
`;
}
