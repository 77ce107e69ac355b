// `trellis controller-manager`: all controllers as a process of their own, against any apiserver.
// Guarantees: flags are those of kube-controller-manager; only the leader works; TERM gives the lease back and ends.
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { ClientError, messageOf } from '../client/error.js';
import { transportOf } from '../client/kubeconfig.js';
import { runLeaderElection } from '../client/leaderElection.js';
import { openInformers } from '../client/sharedInformers.js';
import { openClient } from '../client/typedClient.js';
import { ControllersError } from '../controllers/enabled.js';
import type { ControllersOptions } from '../controllers/run.js';
import { makeLog } from './log.js';
import type { Terminal } from './terminal.js';

const SECOND_MS = 1000;

interface Flags {
  readonly kubeconfig: string;
  readonly controllers: readonly string[];
  readonly leaderElect: boolean;
  readonly leaderElectLeaseDuration: number;
  readonly leaderElectRenewDeadline: number;
  readonly leaderElectRetryPeriod: number;
  readonly leaderElectResourceName: string;
  readonly leaderElectResourceNamespace: string;
  readonly clusterCidr?: string;
  readonly nodeMonitorPeriod: number;
  readonly nodeMonitorGracePeriod: number;
  readonly nodeStartupGracePeriod: number;
  readonly nodeEvictionRate: number;
  readonly secondaryNodeEvictionRate: number;
  readonly unhealthyZoneThreshold: number;
  readonly largeClusterSizeThreshold: number;
  readonly loadBalancerPool?: string;
  readonly rootCaFile?: string;
  readonly clusterSigningCertFile?: string;
  readonly clusterSigningKeyFile?: string;
  readonly clusterSigningDuration: number;
}

export function controllerManagerCommand(terminal: Terminal): Command {
  return new Command('controller-manager')
    .summary('run the controllers alone, against any apiserver')
    .description('Runs the controllers against the apiserver of a kubeconfig, while it holds the lease.')
    .requiredOption('--kubeconfig <file>', 'where the apiserver is, and who we are')
    .addOption(
      new Option('--controllers <list>', '"*" is all, "name" one, "-name" not that one')
        .argParser(list)
        .default(['*'], '*'),
    )
    .option('--leader-elect [bool]', 'work only while holding the lease', bool, true)
    .addOption(time('--leader-elect-lease-duration', 'how long a lease holds', 15))
    .addOption(time('--leader-elect-renew-deadline', 'when a leader gives up', 10))
    .addOption(time('--leader-elect-retry-period', 'how often the lease is tried', 2))
    .option('--leader-elect-resource-name <name>', 'name of the lease', 'kube-controller-manager')
    .option('--leader-elect-resource-namespace <name>', 'namespace of the lease', 'kube-system')
    .option('--cluster-cidr <cidrs>', 'the networks out of which nodes get theirs')
    .addOption(time('--node-monitor-period', 'how often nodes are looked at', 5))
    .addOption(time('--node-monitor-grace-period', 'how long a node may be silent', 40))
    .addOption(time('--node-startup-grace-period', 'how long a new node may be silent', 60))
    .addOption(amount('--node-eviction-rate', 'nodes a second on which eviction begins, per zone', 0.1))
    .addOption(amount('--secondary-node-eviction-rate', 'the same in a large zone that is disrupted', 0.01))
    .addOption(amount('--unhealthy-zone-threshold', 'share of nodes not ready that disrupts a zone', 0.55))
    .addOption(
      amount('--large-cluster-size-threshold', 'a disrupted zone must have more nodes for eviction', 50),
    )
    .option('--load-balancer-pool <cidrs>', 'networks of addresses for Services of type LoadBalancer')
    .option('--cluster-signing-cert-file <file>', 'the CA that signs certificates asked for through the API')
    .option('--cluster-signing-key-file <file>', 'its key')
    .addOption(time('--cluster-signing-duration', 'how long such certificates hold at most', 8760 * 3600))
    .option('--root-ca-file <file>', 'the CA that every namespace is told of')
    .action((flags: Flags) => run(terminal, flags));
}

function time(flag: string, description: string, seconds: number): Option {
  return new Option(`${flag} <duration>`, description)
    .argParser(duration)
    .default(seconds * SECOND_MS, `${seconds}s`);
}

function amount(flag: string, description: string, value: number): Option {
  return new Option(`${flag} <number>`, description).argParser(positive).default(value);
}

async function run(terminal: Terminal, flags: Flags): Promise<void> {
  // Loaded only by the process that needs it.
  const { runControllers } = await import('../controllers/run.js');
  const log = makeLog({ component: 'controller-manager' });
  const signal = endOfProcess();
  try {
    const client = openClient(await transportOf(flags.kubeconfig));
    // A connection of its own: the lease must be renewed however busy the controllers are.
    const leaseClient = openClient(await transportOf(flags.kubeconfig));
    const rootCa = flags.rootCaFile === undefined ? '' : await readText(flags.rootCaFile);
    const signing = await signingOf(flags);
    const lead = async (term: AbortSignal): Promise<void> => {
      const informers = openInformers(client, { log });
      try {
        await runControllers({
          client,
          informers,
          log,
          signal: term,
          ...controllersOptions(flags, rootCa),
          ...signing,
        });
      } finally {
        informers.stop();
      }
    };
    if (flags.leaderElect) {
      await runLeaderElection({
        ...{ client: leaseClient, lead, signal, log },
        identity: `${hostname()}_${randomUUID()}`,
        lease: { name: flags.leaderElectResourceName, namespace: flags.leaderElectResourceNamespace },
        leaseDurationMs: flags.leaderElectLeaseDuration,
        renewDeadlineMs: flags.leaderElectRenewDeadline,
        retryPeriodMs: flags.leaderElectRetryPeriod,
      });
      // Whoever lost the lease must not go on with what it believes to know.
      if (!signal.aborted) terminal.setExitCode(1);
    } else await lead(signal);
    client.close();
    leaseClient.close();
  } catch (error) {
    if (!isExpected(error)) throw error;
    terminal.writeError(`trellis: ${error.message}\n`);
    terminal.setExitCode(1);
  }
}

function controllersOptions(
  flags: Flags,
  rootCa: string,
): Omit<ControllersOptions, 'client' | 'informers' | 'log' | 'signal'> {
  // Nothing to publish: then nothing is published, rather than an empty certificate.
  const noCa = rootCa === '' ? ['-root-ca-certificate-publisher-controller'] : [];
  return {
    rootCa,
    enabled: [...noCa, ...flags.controllers],
    ...(flags.clusterCidr === undefined ? {} : { clusterCidr: flags.clusterCidr }),
    ...(flags.loadBalancerPool === undefined ? {} : { loadBalancerPool: flags.loadBalancerPool }),
    nodeMonitorPeriodMs: flags.nodeMonitorPeriod,
    nodeMonitorGracePeriodMs: flags.nodeMonitorGracePeriod,
    nodeStartupGracePeriodMs: flags.nodeStartupGracePeriod,
    nodeEviction: {
      rate: flags.nodeEvictionRate,
      secondaryRate: flags.secondaryNodeEvictionRate,
      unhealthyThreshold: flags.unhealthyZoneThreshold,
      largeZone: flags.largeClusterSizeThreshold,
    },
  };
}

async function signingOf(flags: Flags): Promise<Pick<ControllersOptions, 'signing'>> {
  const { clusterSigningCertFile: certFile, clusterSigningKeyFile: keyFile } = flags;
  if (certFile === undefined && keyFile === undefined) return {};
  if (certFile === undefined || keyFile === undefined)
    throw new ClientError(
      'CONFIG',
      '--cluster-signing-cert-file and --cluster-signing-key-file belong together',
    );
  const [cert, key] = await Promise.all([readText(certFile), readText(keyFile)]);
  return { signing: { cert, key, durationMs: flags.clusterSigningDuration } };
}

function isExpected(error: unknown): error is Error {
  return error instanceof ClientError || error instanceof ControllersError || error instanceof RangeError;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ClientError('CONFIG', `cannot read ${file}: ${messageOf(cause)}`, { cause });
  }
}

const list = (text: string): string[] => text.split(',').map((part) => part.trim());

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0)) throw new InvalidArgumentError('must be a number, zero or more.');
  return value;
}

function bool(text: string): boolean {
  if (/^(1|t|true)$/i.test(text)) return true;
  if (/^(0|f|false)$/i.test(text)) return false;
  throw new InvalidArgumentError('must be true or false.');
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** As Go writes durations: 40s, 1m30s. */
function duration(text: string): number {
  if (!/^([0-9]+(\.[0-9]+)?(ms|h|m|s))+$/.test(text))
    throw new InvalidArgumentError('must be a duration such as 40s or 1m30s.');
  let total = 0;
  for (const [, amount = '', , unit = ''] of text.matchAll(/([0-9]+(\.[0-9]+)?)(ms|h|m|s)/g))
    total += Number(amount) * (UNITS[unit] ?? 0);
  return total;
}

function endOfProcess(): AbortSignal {
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort());
  return ending.signal;
}
