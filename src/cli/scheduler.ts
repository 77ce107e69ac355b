// `trellis scheduler`: the scheduler alone, against any apiserver, with kube-scheduler's flags.
// Guarantees: a wrong file or flag is told before anything starts; TERM gives the lease back; who loses it ends with 1.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import { Command } from 'commander';
import type { LogFormat } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import { goDurationMs } from '../base/goDuration.js';
import { ClientError } from '../client/error.js';
import { openHttps } from '../client/httpTransport.js';
import { readKubeconfig } from '../client/kubeconfig.js';
import type { SchedulerConfiguration } from '../scheduler/configuration/configuration.js';
import { SchedulerError } from '../scheduler/error.js';
import { endOfProcess } from './cluster/components.js';
import { levelOf, makeLog } from './log.js';
import { type ServingFlags, servingOf, withServingFlags } from './serving.js';
import { switchOption } from './stock/booleans.js';
import { tellFlags, withFixedFlags, withToldFlags } from './stock/fixedFlags.js';
import { SCHEDULER, SCHEDULER_TOLD } from './stock/scheduler.js';
import { withComponentFlags } from './stock/sharedFlags.js';
import { withVersionFlag } from './stock/versionFlag.js';
import type { Terminal } from './terminal.js';

const COMPONENT = { name: 'kube-scheduler', port: 10_259 };

export interface SchedulerFlags extends ServingFlags {
  readonly kubeconfig?: string;
  readonly master?: string;
  readonly config?: string;
  readonly leaderElect?: boolean;
  readonly leaderElectLeaseDuration?: string;
  readonly leaderElectRenewDeadline?: string;
  readonly leaderElectRetryPeriod?: string;
  readonly leaderElectResourceName?: string;
  readonly leaderElectResourceNamespace?: string;
  readonly v?: number;
  readonly loggingFormat?: LogFormat;
}

export function schedulerCommand(terminal: Terminal): Command {
  const command = new Command('scheduler')
    .summary('run a scheduler alone')
    .description(
      'Runs a scheduler against an apiserver, with the flags and the configuration file of kube-scheduler.',
    )
    .option('--kubeconfig <file>', 'API server and credentials')
    .option('--master <url>', 'address of the apiserver; overrides the kubeconfig')
    .option('--config <file>', 'a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)')
    .addOption(switchOption('leader-elect', 'work only while holding the lease (default: true)'))
    .option(
      '--leader-elect-lease-duration <duration>',
      'how long a lease is valid without renewal (default: 15s)',
    )
    .option(
      '--leader-elect-renew-deadline <duration>',
      'how long the leader tries to renew it (default: 10s)',
    )
    .option('--leader-elect-retry-period <duration>', 'time between attempts (default: 2s)')
    .option('--leader-elect-resource-name <name>', 'name of the lease (default: kube-scheduler)')
    .option('--leader-elect-resource-namespace <namespace>', 'namespace of the lease (default: kube-system)');
  withComponentFlags(withServingFlags(withVersionFlag(command, terminal), COMPONENT));
  withToldFlags(withFixedFlags(command, SCHEDULER), SCHEDULER_TOLD);
  return command.action(async (flags: SchedulerFlags) => {
    try {
      // Whoever lost the lease must not go on with what it believes to know.
      if (!(await run(flags))) terminal.setExitCode(1);
    } catch (error) {
      if (!(error instanceof SchedulerError) && !ClientError.is(error, 'CONFIG')) throw error;
      terminal.writeError(`error: ${messageOf(error)}\n`);
      terminal.setExitCode(1);
    }
  });
}

/** Resolves with false when the lease was lost. */
async function run(flags: SchedulerFlags): Promise<boolean> {
  // Loaded by the command that needs it: every other component would keep it in memory.
  const { runStandalone } = await import('../scheduler/standalone.js');
  const configuration = withFlags(await load(flags.config), flags);
  const file = flags.kubeconfig ?? configuration.kubeconfig;
  if (file === undefined)
    throw new SchedulerError(
      'CONFIG',
      'give a kubeconfig: --kubeconfig, or clientConnection.kubeconfig in --config',
    );
  const connection = await readKubeconfig(file);
  const openTransport = () => openHttps({ ...connection, server: flags.master ?? connection.server });
  const identity = `${os.hostname()}_${randomUUID()}`;
  const log = makeLog({ component: 'scheduler', level: levelOf(flags.v), format: flags.loggingFormat });
  tellFlags(flags, SCHEDULER_TOLD, log.warn);
  const serving = await servingOf(flags, COMPONENT);
  const settings = { openTransport, configuration, identity, log, signal: endOfProcess() };
  return runStandalone(serving === undefined ? settings : { ...settings, serving });
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
    const millis = goDurationMs(text);
    if (millis === undefined || millis <= 0)
      throw new SchedulerError('CONFIG', `--${flag}: ${JSON.stringify(text)} is not a duration such as 15s`);
    return millis;
  };
  return {
    ...configuration,
    leaderElection: {
      leaderElect: flags.leaderElect ?? leaderElection.leaderElect,
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
