// `trellis scheduler`: the scheduler alone, against any apiserver, with kube-scheduler's flags.
// Guarantees: a wrong file or flag is told before anything starts; TERM gives the lease back.
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import os from 'node:os';
import { Command } from 'commander';
import { ClientError, messageOf } from '../client/error.js';
import { openHttps } from '../client/httpTransport.js';
import { readKubeconfig, transportOf } from '../client/kubeconfig.js';
import { openClient } from '../client/typedClient.js';
import type { SchedulerConfiguration } from '../scheduler/configuration/configuration.js';
import { durationMs } from '../scheduler/configuration/durations.js';
import type { Serving } from '../scheduler/standalone.js';
import { SchedulerError } from '../scheduler/timeLimit.js';
import { makeLog } from './log.js';
import type { Terminal } from './terminal.js';

export interface SchedulerFlags {
  readonly kubeconfig?: string;
  readonly master?: string;
  readonly config?: string;
  readonly leaderElect?: string;
  readonly leaderElectLeaseDuration?: string;
  readonly leaderElectRenewDeadline?: string;
  readonly leaderElectRetryPeriod?: string;
  readonly leaderElectResourceName?: string;
  readonly leaderElectResourceNamespace?: string;
  readonly bindAddress?: string;
  readonly securePort?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  readonly authenticationKubeconfig?: string;
  readonly authorizationKubeconfig?: string;
  readonly v?: string;
}

export function schedulerCommand(terminal: Terminal): Command {
  return new Command('scheduler')
    .summary('run a scheduler alone')
    .description(
      'Runs a scheduler against an apiserver, with the flags and the configuration file of kube-scheduler.',
    )
    .option('--kubeconfig <file>', 'how to reach the apiserver, and as whom')
    .option('--master <url>', 'address of the apiserver, in place of that of the kubeconfig')
    .option('--config <file>', 'a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)')
    .option('--leader-elect [bool]', 'work only while holding the lease (default: true)')
    .option('--leader-elect-lease-duration <duration>', 'how long a lease lasts unrenewed (default: 15s)')
    .option('--leader-elect-renew-deadline <duration>', 'how long to try to renew (default: 10s)')
    .option('--leader-elect-retry-period <duration>', 'how long between tries (default: 2s)')
    .option('--leader-elect-resource-name <name>', 'name of the lease (default: kube-scheduler)')
    .option('--leader-elect-resource-namespace <namespace>', 'namespace of the lease (default: kube-system)')
    .option('--bind-address <ip>', 'where health and metrics are served (default: 0.0.0.0)')
    .option('--secure-port <port>', 'on which port, over HTTPS; 0 serves nothing (default: 10259)')
    .option('--tls-cert-file <file>', 'certificate to serve with (default: one made for this run)')
    .option('--tls-private-key-file <file>', 'the key of --tls-cert-file')
    .option('--client-ca-file <file>', 'authority whose client certificates are taken for names')
    .option('--authentication-kubeconfig <file>', 'as whom to review tokens (default: as in --kubeconfig)')
    .option('--authorization-kubeconfig <file>', 'as whom to review access (default: as in --kubeconfig)')
    .option('-v, --v <level>', 'how much to log: 4 and above is everything')
    .action(async (flags: SchedulerFlags) => {
      try {
        await run(flags);
      } catch (error) {
        if (!(error instanceof SchedulerError) && !ClientError.is(error, 'CONFIG')) throw error;
        terminal.writeError(`error: ${messageOf(error)}\n`);
        terminal.setExitCode(1);
      }
    });
}

async function run(flags: SchedulerFlags): Promise<void> {
  const configuration = withFlags(await load(flags.config), flags);
  const file = flags.kubeconfig ?? configuration.kubeconfig;
  if (file === undefined)
    throw new SchedulerError(
      'CONFIG',
      'give a kubeconfig: --kubeconfig, or clientConnection.kubeconfig in --config',
    );
  const connection = await readKubeconfig(file);
  const transport = openHttps({ ...connection, server: flags.master ?? connection.server });
  const level = Number(flags.v ?? '0') >= 4 ? 'debug' : 'info';
  const client = openClient(transport);
  const identity = `${os.hostname()}_${randomUUID()}`;
  const log = makeLog({ component: 'scheduler', level });
  try {
    const serving = await servingOf(flags);
    const settings = { client, configuration, identity, log, signal: endOfProcess() };
    const { runStandalone } = await import('../scheduler/standalone.js');
    await runStandalone(serving === undefined ? settings : { ...settings, serving });
  } finally {
    client.close();
  }
}

/** Undefined when nothing is to be served. */
export async function servingOf(flags: SchedulerFlags): Promise<Serving | undefined> {
  const { bindAddress: host = '0.0.0.0', securePort = '10259', tlsCertFile, tlsPrivateKeyFile } = flags;
  const port = Number(securePort);
  if (!/^\d+$/.test(securePort) || port > 65_535)
    throw new SchedulerError('CONFIG', `--secure-port: ${JSON.stringify(securePort)} is no port`);
  if (isIP(host) === 0)
    throw new SchedulerError('CONFIG', `--bind-address: ${JSON.stringify(host)} is no IP address`);
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    throw new SchedulerError('CONFIG', '--tls-cert-file and --tls-private-key-file go together');
  if (port === 0) return undefined;
  const read = (flag: string, file: string) => readText(`--${flag}`, file);
  const pair =
    tlsCertFile === undefined || tlsPrivateKeyFile === undefined
      ? await ownCertificate(host)
      : {
          cert: await read('tls-cert-file', tlsCertFile),
          key: await read('tls-private-key-file', tlsPrivateKeyFile),
        };
  const { clientCaFile, authenticationKubeconfig, authorizationKubeconfig } = flags;
  const clientCa = clientCaFile === undefined ? {} : { clientCa: await read('client-ca-file', clientCaFile) };
  const reviewer = async (file: string | undefined) =>
    file === undefined ? undefined : openClient(await transportOf(file));
  return {
    host,
    port,
    tls: { ...pair, ...clientCa },
    tokens: await reviewer(authenticationKubeconfig),
    rights: await reviewer(authorizationKubeconfig),
  };
}

/** As kube-scheduler does without files: good for this run, known to nobody. */
async function ownCertificate(host: string): Promise<{ readonly cert: string; readonly key: string }> {
  const now = Date.now();
  // Loaded by who needs it: it takes longer to read than all other commands together.
  const { issue, makeAuthority } = await import('../cluster/pki/authority.js');
  const authority = await makeAuthority(`kube-scheduler-ca@${Math.floor(now / 1000)}`, now);
  const hosts = ['localhost', '127.0.0.1', os.hostname(), ...(host === '0.0.0.0' ? [] : [host])];
  return issue(authority, { commonName: 'kube-scheduler', hosts: [...new Set(hosts)] }, now);
}

async function readText(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new SchedulerError('CONFIG', `${flag}: ${messageOf(cause)}`, { cause });
  }
}

async function load(file: string | undefined): Promise<SchedulerConfiguration> {
  const { defaultConfiguration, parseConfiguration } = await import(
    '../scheduler/configuration/configuration.js'
  );
  if (file === undefined) return defaultConfiguration();
  const text = await readText('--config', file);
  try {
    return parseConfiguration(text);
  } catch (error) {
    if (!(error instanceof SchedulerError)) throw error;
    throw new SchedulerError('CONFIG', `${file}: ${error.message}`, { cause: error });
  }
}

/** Flags go before the file, as far as they are given. */
export function withFlags(
  configuration: SchedulerConfiguration,
  flags: SchedulerFlags,
): SchedulerConfiguration {
  const { leaderElection } = configuration;
  const duration = (flag: string, text: string | undefined, otherwise: number) => {
    if (text === undefined) return otherwise;
    const millis = durationMs(text);
    if (millis === undefined || millis <= 0)
      throw new SchedulerError('CONFIG', `--${flag}: ${JSON.stringify(text)} is no duration such as 15s`);
    return millis;
  };
  return {
    ...configuration,
    leaderElection: {
      leaderElect: flagOf(flags.leaderElect, leaderElection.leaderElect),
      leaseDurationMs: duration(
        'leader-elect-lease-duration',
        flags.leaderElectLeaseDuration,
        leaderElection.leaseDurationMs,
      ),
      renewDeadlineMs: duration(
        'leader-elect-renew-deadline',
        flags.leaderElectRenewDeadline,
        leaderElection.renewDeadlineMs,
      ),
      retryPeriodMs: duration(
        'leader-elect-retry-period',
        flags.leaderElectRetryPeriod,
        leaderElection.retryPeriodMs,
      ),
      resourceName: flags.leaderElectResourceName ?? leaderElection.resourceName,
      resourceNamespace: flags.leaderElectResourceNamespace ?? leaderElection.resourceNamespace,
    },
  };
}

/** `--leader-elect` alone is true. */
function flagOf(value: string | boolean | undefined, otherwise: boolean): boolean {
  if (value === undefined) return otherwise;
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw new SchedulerError('CONFIG', `--leader-elect: must be true or false, not ${JSON.stringify(value)}`);
}

function endOfProcess(): AbortSignal {
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => ending.abort());
  return ending.signal;
}
