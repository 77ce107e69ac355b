// The options that every command about a cluster shares.
import { accessSync, constants, mkdirSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { type Command, Option } from 'commander';
import { ClusterError } from '../../cluster/error.js';
import { type Layout, layoutOf } from '../../cluster/layout.js';
import { findProgram } from '../../cluster/preflight.js';
import type { CommandText } from '../../cluster/problems.js';
import { POD_SPOOFING, POLICY_LOG, type WantedSettings } from '../../cluster/settings.js';
import { BACKENDS } from '../../network/overlay/peer.js';
import { MODE_NAMES } from '../../proxy/modeNames.js';
import { portNumber, positiveNumber } from '../numbers.js';
import type { Terminal } from '../terminal.js';

/** As a shell tells of a program that was interrupted. */
const INTERRUPTED = 130;
export const DEFAULT_DATA_DIR = '/var/lib/trellis';
export const DATA_DIR_VARIABLE = 'TRELLIS_DATA_DIR';

export interface DataDirOption {
  readonly dataDir: string;
}

export function withDataDir(command: Command): Command {
  return command.addOption(
    new Option('--data-dir <dir>', 'where the cluster keeps its data; another directory is another cluster')
      .env(DATA_DIR_VARIABLE)
      .default(DEFAULT_DATA_DIR),
  );
}

/** By kube-apiserver's names. */
export function withEtcd(command: Command): Command {
  return command
    .option('--etcd-servers <urls>', 'URLs of the etcd that holds the state, separated by commas')
    .option('--etcd-cafile <file>', 'CA of the etcd servers')
    .option('--etcd-certfile <file>', 'client certificate for etcd')
    .option('--etcd-keyfile <file>', 'key of --etcd-certfile');
}

const MODES = ['auto', ...MODE_NAMES];

/** What a control plane can be told, by kube-apiserver's names where it has one. */
export function withControlPlane(command: Command): Command {
  return withEtcd(command)
    .option('--cluster-cidr <cidrs>', 'pod networks, one per family (default: 10.244.0.0/16)')
    .option('--service-cluster-ip-range <cidrs>', 'service networks, one per family (default: 10.96.0.0/12)')
    .option(
      '--dual-stack',
      'also give pods and services IPv6 addresses (default ranges: fd00:10:244::/56 and fd00:10:96::/112)',
    )
    .option(
      '--non-masquerade-cidrs <cidrs>',
      "networks outside the cluster that have routes to pods, separated by commas: they see a pod's own address",
    )
    .addOption(
      new Option(
        '--pod-spoofing <what>',
        'whether pods may send from addresses that are not theirs (default: deny)',
      ).choices(POD_SPOOFING),
    )
    .option('--cluster-domain <name>', 'domain of the cluster (default: cluster.local)')
    .option(
      '--node-grace-seconds <seconds>',
      'how long a node may be silent before its pods are created elsewhere (default: 40)',
      positiveNumber,
    )
    .option('--secure-port <port>', 'port of the apiserver (default: 6443)', portNumber)
    .option(
      '--tls-san <names>',
      "extra names and addresses for the apiserver's certificate, separated by commas",
    )
    .addOption(new Option('--proxy-mode <mode>', 'proxy mode for services (default: auto)').choices(MODES))
    .addOption(new Option('--mode <mode>', 'short for --proxy-mode').choices(MODES).conflicts('proxyMode'))
    .addOption(
      new Option('--overlay <back end>', 'network between nodes (default: vxlan)').choices(BACKENDS),
    );
}

/** What a node can be told. */
export function withNode(command: Command): Command {
  return command
    .option('--node-name <name>', 'name of the node (default: the host name)')
    .option(
      '--node-ip <addresses>',
      'address of the node, or one per family separated by a comma (default: that of the device with the default route)',
    )
    .option('--kubelet-port <port>', 'port of the kubelet (default: 10250)', portNumber)
    .option(
      '--kubelet-healthz-port <port>',
      "port of the kubelet's health check (default: 10248)",
      portNumber,
    )
    .option('--dns-port <port>', "port of the node's name server (default: 10053)", portNumber)
    .addOption(
      new Option(
        '--policy-log <what>',
        'which connections are logged by network policies (default: none)',
      ).choices(POLICY_LOG),
    );
}

/** Files by their whole path: the next start may be from another directory. */
export function etcdOf({
  etcdServers,
  etcdCafile,
  etcdCertfile,
  etcdKeyfile,
}: WantedSettings): WantedSettings {
  if ((etcdServers ?? '') === '' && (etcdCafile ?? etcdCertfile ?? etcdKeyfile) !== undefined)
    throw new ClusterError('BAD_OPTION', 'etcd certificates need --etcd-servers');
  const whole = (file: string | undefined) => (file === undefined ? undefined : path.resolve(file));
  return {
    etcdCafile: whole(etcdCafile),
    etcdCertfile: whole(etcdCertfile),
    etcdKeyfile: whole(etcdKeyfile),
  };
}

/** The layout of a directory that must be there already. */
export function existingLayout({ dataDir }: DataDirOption): Layout {
  try {
    const found = realpathSync(dataDir);
    accessSync(found, constants.R_OK | constants.X_OK);
    return layoutOf(found);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EACCES')
      throw new ClusterError(
        'NOT_ROOT',
        `${dataDir} is accessible only to root: use sudo, or let root give you access with ` +
          '"trellis kubeconfig --merge /home/you/.kube/config" and use kubectl',
        { cause },
      );
    if (code !== 'ENOENT') throw cause;
    // What is gone from the disk may still have left traces on the machine under the same name.
    return layoutOf(path.resolve(dataDir));
  }
}

export function makeLayout({ dataDir }: DataDirOption): Layout {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  return layoutOf(realpathSync(dataDir));
}

/** The command as it is typed here, and the option that names the directory unless it is the default. */
export function wordsFor({ dataDir }: DataDirOption): { readonly trellis: string; readonly option: string } {
  // From a tree that is not installed, npx finds it.
  const trellis = findProgram('trellis') === undefined ? 'npx trellis' : 'trellis';
  return { trellis, option: dataDir === DEFAULT_DATA_DIR ? '' : ` --data-dir ${dataDir}` };
}

/** How a command about this cluster is typed. */
export function commandText(flags: DataDirOption): CommandText {
  const { trellis, option } = wordsFor(flags);
  return (command, ...words) => [`${trellis} ${command}${option}`, ...words].join(' ');
}

/** Shows a ClusterError as one sentence and sets the exit code; everything else is a bug and is thrown on. */
export async function reporting(terminal: Terminal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    terminal.writeError(`trellis: ${error.message}\n`);
    terminal.setExitCode(error.code === 'INTERRUPTED' ? INTERRUPTED : 1);
    // A question to a server that does not answer would keep the process for as long as that takes.
    if (error.code === 'INTERRUPTED') setTimeout(() => process.exit(INTERRUPTED), 100).unref();
  }
}
