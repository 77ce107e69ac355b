// Brings a cluster up: checks the machine, makes what is missing on disk, starts the processes, waits for Ready.
// Guarantees: a start that fails ends what it started; one data directory has at most one running cluster.
import { mkdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import type { Log } from '../api/log.js';
import { type ClusterFile, saveComponents } from './configuration.js';
import { containerdComponent } from './containerd/component.js';
import { removeTraces } from './down.js';
import { ClusterError } from './error.js';
import { makePrivateDir, writePrivate } from './files.js';
import { kubeconfigText } from './kubeconfig.js';
import type { Layout } from './layout.js';
import { ensurePki } from './pki/files.js';
import { nodeAddresses, requirePorts, requirePrograms } from './preflight.js';
import { terminate } from './processes.js';
import { serviceAddress } from './serviceAddress.js';
import { defaultSettings, type Settings, settle, type WantedSettings } from './settings.js';
import { readState, runningSupervisor } from './state.js';
import { type Step, type StepSink, step } from './steps.js';
import { type Component, Supervisor } from './supervisor.js';

export interface UpOptions {
  readonly layout: Layout;
  readonly wanted: WantedSettings & { readonly dualStack?: boolean | undefined };
  /** The node's addresses, one a family with a comma between; those of the default device unless named. */
  readonly nodeIp?: string | undefined;
  /** How a component is run: the program and its first arguments, such as `node main.js`. */
  readonly self: readonly string[];
  /** Where the CNI plugins are. */
  readonly cniBinDir: string;
  /** What replaces the configuration of the components; without it they stay as they are. */
  readonly configuration?: ClusterFile | undefined;
  readonly timeoutMs: number;
  readonly sink: StepSink;
  readonly log: Log;
}

export interface RunningCluster {
  readonly settings: Settings;
  /** Ends the processes and removes every trace but the data. */
  stop(): Promise<void>;
}

const LEFTOVER_GRACE_MS = 3_000;

export async function up(options: UpOptions): Promise<RunningCluster> {
  const { layout, sink, log } = options;
  const lock = await lockCluster(layout);
  try {
    const { settings, nodeIps } = await step(sink, 'machine', () => prepare(options));
    await step(sink, 'certificates', () => prepareFiles(options, settings, nodeIps));
    const ready = readiness(options);
    const supervisor = new Supervisor(layout, ready.sink, log);
    const stop = async () => {
      await supervisor.stop();
      await removeTraces({ layout, cniBinDir: options.cniBinDir });
      lock.close();
    };
    try {
      await supervisor.start(await componentsOf(options, nodeIps));
      await ready.promise;
    } catch (error) {
      await stop();
      throw error;
    }
    return { settings, stop };
  } catch (error) {
    lock.close();
    throw error;
  }
}

async function prepare({ layout, wanted, nodeIp }: UpOptions) {
  requirePrograms();
  await endLeftovers(layout);
  const settings = await settle(layout, wanted, defaultSettings(hostname().toLowerCase()));
  await requirePorts(settings);
  return { settings, nodeIps: nodeAddresses(nodeIp, settings.clusterCidr) };
}

/** What a killed supervisor left running would hold the ports; its containers are left alone. */
async function endLeftovers(layout: Layout): Promise<void> {
  const { components } = await readState(layout);
  for (const process of Object.values(components)) await terminate(process, LEFTOVER_GRACE_MS);
}

async function prepareFiles(
  { layout, configuration }: UpOptions,
  settings: Settings,
  nodeIps: readonly string[],
): Promise<void> {
  for (const dir of [layout.runDir, layout.logDir, layout.storeDir, layout.kubeletDir])
    await makePrivateDir(dir);
  for (const dir of [layout.manifestDir, layout.cniConfigDir, layout.podLogDir]) {
    await mkdir(dir, { recursive: true, mode: 0o700 });
  }
  if (configuration !== undefined) await saveComponents(layout, configuration);
  const { clusterDomain } = settings;
  const pki = await ensurePki({
    dir: layout.pkiDir,
    nodeName: settings.nodeName,
    apiserverHosts: [
      ...[
        'kubernetes',
        'kubernetes.default',
        'kubernetes.default.svc',
        `kubernetes.default.svc.${clusterDomain}`,
      ],
      ...['localhost', settings.nodeName, '127.0.0.1', '::1', ...nodeIps, serviceAddress(settings, 1)],
    ],
    nodeHosts: [settings.nodeName, ...nodeIps, '127.0.0.1', 'localhost'],
    now: Date.now(),
  });
  const server = `https://127.0.0.1:${settings.securePort}`;
  const config = kubeconfigText({ server, ca: pki.ca.cert, client: pki.admin, user: 'kubernetes-admin' });
  await writePrivate(layout.adminKubeconfig, config);
}

async function componentsOf(options: UpOptions, nodeIps: readonly string[]): Promise<readonly Component[]> {
  const { layout, self, cniBinDir } = options;
  const command = (name: string, ...args: string[]) => [
    ...self,
    name,
    '--data-dir',
    layout.dataDir,
    '--node-ip',
    nodeIps.join(','),
    ...args,
  ];
  return [
    await containerdComponent({ layout, cniBinDir }),
    { name: 'server', command: command('server'), speaks: true },
    { name: 'agent', command: command('agent'), speaks: true },
  ];
}

/** Held as long as this process lives, however it ends. */
async function lockCluster(layout: Layout): Promise<Server> {
  const running = runningSupervisor(await readState(layout));
  const server = createServer();
  const taken = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(true) : reject(error),
    );
    server.listen(`\0trellis-${layout.id}`, () => resolve(false));
  });
  if (!taken && running === undefined) return server;
  server.close();
  const who = running === undefined ? '' : ` (process ${running.pid})`;
  throw new ClusterError(
    'ALREADY_RUNNING',
    `a cluster already runs on ${layout.dataDir}${who}; see it with "trellis status", end it with "trellis down", ` +
      'or start another with --data-dir',
  );
}

/** Passes steps on, and settles with the first that says Ready or Failed. */
function readiness({ sink, timeoutMs, layout }: UpOptions): { sink: StepSink; promise: Promise<void> } {
  const pending = new Set<string>();
  let settleWith: (step: Step) => void = () => {};
  const promise = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      const waiting = pending.size === 0 ? 'the components' : [...pending].join(', ');
      const message = `the node was not Ready within ${timeoutMs / 1000} s; still waiting for ${waiting}. The logs are in ${layout.logDir}`;
      reject(new ClusterError('TIMEOUT', message));
    }, timeoutMs);
    settleWith = (message) => {
      if (message.type === 'ready' || message.type === 'failed') clearTimeout(timer);
      if (message.type === 'ready') resolve();
      if (message.type === 'failed')
        reject(new ClusterError('COMPONENT_FAILED', `${message.name}: ${message.text}`));
    };
  });
  return {
    promise,
    sink: (message) => {
      if (message.type === 'begin') pending.add(message.name);
      if (message.type === 'done') pending.delete(message.name);
      sink(message);
      settleWith(message);
    },
  };
}
