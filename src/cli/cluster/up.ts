// `trellis up`: a cluster on this machine, in the foreground with a view of the steps, or left running with --detach.
// Guarantees: with --detach it returns 0 when the node is Ready, 1 with the reason otherwise.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { ClusterFile } from '../../cluster/configuration.js';
import { ClusterError } from '../../cluster/error.js';
import { makePrivateDir } from '../../cluster/files.js';
import type { Layout } from '../../cluster/layout.js';
import { findProgram, requireRoot } from '../../cluster/preflight.js';
import type { WantedSettings } from '../../cluster/settings.js';
import { type Step, type StepSink, supervisorSink } from '../../cluster/steps.js';
import { BACKENDS } from '../../network/overlay/peer.js';
import { MODE_NAMES } from '../../proxy/modeNames.js';
import { makeLog } from '../log.js';
import type { Terminal } from '../terminal.js';
import { installationRoot } from '../version.js';
import { applyConfigFile, CONFIG_EXPLANATION } from './configFile.js';
import {
  type DataDirOption,
  DEFAULT_DATA_DIR,
  makeLayout,
  reporting,
  withDataDir,
  withEtcd,
} from './options.js';
import { duration, makeStepView } from './view.js';

interface UpFlags extends DataDirOption, WantedSettings {
  readonly nodeIp?: string;
  readonly dualStack?: boolean;
  readonly config?: string;
  readonly detach?: boolean;
  readonly timeout: number;
  /** Set by --detach on the process it leaves behind. */
  readonly supervise?: boolean;
  /** What --config says of the components. */
  readonly configuration?: ClusterFile | undefined;
}

const DEFAULT_TIMEOUT_S = 60;
const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

const EXPLANATION = `
The cluster has one node: this machine. It needs root, containerd and runc. Everything it makes carries the cluster's
name and goes away with "trellis down", or with Ctrl-C here; the data stays, and the next start goes on from it.

Examples:
  trellis up                                    in the foreground; Ctrl-C ends it
  trellis up --detach                           returns when the node is Ready
  trellis up --etcd-servers https://10.0.0.1:2379 --etcd-cafile ca.crt --etcd-certfile our.crt --etcd-keyfile our.key
  trellis up --data-dir /srv/two --secure-port 7443 --kubelet-port 11250 --kubelet-healthz-port 11248 --dns-port 11053
`;

export function upCommand(terminal: Terminal): Command {
  return withEtcd(withDataDir(new Command('up')))
    .summary('start a cluster on this machine')
    .description('Starts a control plane and a node on this machine, and waits until the node is Ready.')
    .option('--config <file>', 'one file for everything; flags win over it')
    .option('-d, --detach', 'return when the node is Ready and leave it running')
    .option('--node-name <name>', 'name of the node (default: the host name)')
    .option(
      '--node-ip <addresses>',
      'address of the node, or one of each family with a comma between (default: that of the device with the default route)',
    )
    .option(
      '--cluster-cidr <cidrs>',
      'addresses of pods, at most one network a family (default: 10.244.0.0/16)',
    )
    .option('--service-cluster-ip-range <cidrs>', 'addresses of services, likewise (default: 10.96.0.0/12)')
    .option(
      '--dual-stack',
      'pods and services have IPv6 addresses too (default ranges: fd00:10:244::/56 and fd00:10:96::/112)',
    )
    .option('--cluster-domain <name>', 'domain of the cluster (default: cluster.local)')
    .option('--secure-port <port>', 'port of the apiserver (default: 6443)', portNumber)
    .option('--kubelet-port <port>', 'port of the kubelet (default: 10250)', portNumber)
    .option(
      '--kubelet-healthz-port <port>',
      "port of the kubelet's health check (default: 10248)",
      portNumber,
    )
    .option('--dns-port <port>', "port of the node's name server (default: 10053)", portNumber)
    .addOption(
      new Option('--proxy-mode <mode>', 'how services are programmed (default: auto)').choices([
        'auto',
        ...MODE_NAMES,
      ]),
    )
    .addOption(
      new Option('--overlay <back end>', 'how pods of other nodes are reached (default: vxlan)').choices(
        BACKENDS,
      ),
    )
    .option('--timeout <seconds>', 'how long to wait for Ready', wholeNumber, DEFAULT_TIMEOUT_S)
    .addOption(new Option('--supervise').hideHelp())
    .addHelpText('after', CONFIG_EXPLANATION + EXPLANATION)
    .action((given: UpFlags, command: Command) =>
      reporting(terminal, async () => {
        requireRoot('up');
        const configuration =
          given.config === undefined ? undefined : await applyConfigFile(command, given.config);
        const flags: UpFlags & { serviceClusterIpRange?: string } = command.opts();
        const serviceCidr = flags.serviceClusterIpRange;
        const wanted = { ...flags, ...etcdOf(flags), serviceCidr, configuration };
        if (flags.supervise === true) return supervise(wanted);
        return flags.detach === true ? detach(terminal, wanted) : foreground(terminal, wanted);
      }),
    );
}

/** Files by their whole path: the next start may be from another directory. */
function etcdOf({ etcdServers, etcdCafile, etcdCertfile, etcdKeyfile }: UpFlags): WantedSettings {
  if ((etcdServers ?? '') === '' && (etcdCafile ?? etcdCertfile ?? etcdKeyfile) !== undefined)
    throw new ClusterError('BAD_OPTION', 'certificates for etcd are given without --etcd-servers');
  const whole = (file: string | undefined) => (file === undefined ? undefined : path.resolve(file));
  return {
    etcdCafile: whole(etcdCafile),
    etcdCertfile: whole(etcdCertfile),
    etcdKeyfile: whole(etcdKeyfile),
  };
}

async function foreground(terminal: Terminal, flags: UpFlags): Promise<void> {
  const view = makeStepView(terminal, terminal.live);
  const started = performance.now();
  const interrupted = interruption();
  const cluster = await start(flags, (step) => view.show(step)).finally(() => view.end());
  terminal.write(farewell(flags, performance.now() - started, 'interrupt'));
  await interrupted;
  terminal.write('Ending the cluster; its data stays.\n');
  await cluster.stop();
}

/** The process that --detach leaves behind: steps go to the one that started it. */
async function supervise(flags: UpFlags): Promise<void> {
  const sink = supervisorSink();
  const interrupted = interruption();
  const cluster = await start(flags, sink).catch((error: unknown) => {
    // The last word is the reason as a whole; it follows the step that failed.
    if (error instanceof ClusterError) sink({ type: 'failed', name: '', text: error.message });
    throw error;
  });
  if (process.connected) process.disconnect();
  await interrupted;
  await cluster.stop();
}

async function detach(terminal: Terminal, flags: UpFlags): Promise<void> {
  const view = makeStepView(terminal, terminal.live);
  const started = performance.now();
  const layout = makeLayout(flags);
  const failure = await startSupervisor(layout, (step) => view.show(step)).finally(() => view.end());
  if (failure !== undefined) throw new ClusterError('COMPONENT_FAILED', failure);
  terminal.write(farewell(flags, performance.now() - started, 'down'));
}

/** Answers why the start failed, or nothing once the node is Ready. */
async function startSupervisor(layout: Layout, sink: StepSink): Promise<string | undefined> {
  await makePrivateDir(layout.logDir);
  const logFile = path.join(layout.logDir, 'trellis.log');
  const output = openSync(logFile, 'a', 0o600);
  const args = process.argv.slice(2).filter((word) => word !== '--detach' && word !== '-d');
  const child = spawn(process.execPath, [MAIN, ...args, '--supervise'], {
    detached: true,
    stdio: ['ignore', output, output, 'ipc'],
  });
  closeSync(output);
  let failure: string | undefined;
  const ready = new Promise<void>((resolve) => {
    child.on('message', (step: Step) => {
      sink(step);
      if (step.type === 'failed') failure = step.text;
      if (step.type === 'ready') resolve();
    });
  });
  const exited = once(child, 'exit').then(
    () => failure ?? `it ended before the node was Ready; see ${logFile}`,
  );
  const result = await Promise.race([ready.then(() => undefined), exited]);
  if (child.connected) child.disconnect();
  child.unref();
  return result;
}

async function start(flags: UpFlags, sink: StepSink) {
  const layout = makeLayout(flags);
  // Loaded by the command that needs it: "trellis kubectl" should start as quickly as kubectl.
  const { up } = await import('../../cluster/up.js');
  return up({
    layout,
    wanted: flags,
    nodeIp: flags.nodeIp,
    configuration: flags.configuration,
    // A small nursery: bursts of short-lived objects must not keep a component's memory for good.
    self: [process.execPath, '--max-semi-space-size=2', MAIN],
    cniBinDir: path.join(installationRoot(), 'dist', 'cni'),
    timeoutMs: flags.timeout * 1000,
    sink,
    log: makeLog({ component: 'supervisor' }),
  });
}

function farewell(flags: UpFlags, ms: number, ending: 'interrupt' | 'down'): string {
  // From a tree that is not installed, npx finds it.
  const trellis = findProgram('trellis') === undefined ? 'npx trellis' : 'trellis';
  const option = flags.dataDir === DEFAULT_DATA_DIR ? '' : ` --data-dir ${flags.dataDir}`;
  const kubectl = `${trellis} kubectl${option}`;
  return `
The node is Ready after ${duration(ms)}. Try${ending === 'interrupt' ? ', in another terminal' : ''}:

  ${kubectl} get nodes
  ${kubectl} create deployment web --image=trellis.local/busybox --replicas=3 -- httpd -f -p 8080 -h /etc
  ${kubectl} expose deployment web --port 80 --target-port 8080
  ${trellis} status${option}

${ending === 'interrupt' ? 'Ctrl-C ends it.' : `End it with: ${trellis} down${option}`}
`;
}

/** Resolves at the first request to end; later ones find the end already under way. */
function interruption(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw new InvalidArgumentError('a port is a number from 1 to 65535');
  return port;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('expected a whole number above 0');
  return value;
}
