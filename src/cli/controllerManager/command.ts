// `trellis controller-manager`: all controllers as a process of their own, against any apiserver.
// Guarantees: flags are those of kube-controller-manager; only the leader works, and who loses the lease writes nothing
// more and ends with 1; TERM gives the lease back and ends; with
// --use-service-account-credentials each controller acts as its own service account.
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Command } from 'commander';
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import { openAccountTransport } from '../../client/accountTransport.js';
import type { Client } from '../../client/client.js';
import { ClientError } from '../../client/error.js';
import { type HttpsOptions, openHttps } from '../../client/httpTransport.js';
import { readKubeconfig } from '../../client/kubeconfig.js';
import { runLeaderElection } from '../../client/leaderElection.js';
import { type Progress, serveComponent } from '../../client/serving.js';
import { openInformers } from '../../client/sharedInformers.js';
import type { Transport } from '../../client/transport.js';
import { openClient } from '../../client/typedClient.js';
import { ACCOUNT_NAMESPACE } from '../../controllers/accounts.js';
import { ControllersError } from '../../controllers/error.js';
import type { ControllersOptions } from '../../controllers/run.js';
import { levelOf, makeLog } from '../log.js';
import { servingOf } from '../serving.js';
import { CONTROLLER_MANAGER_TOLD } from '../stock/controllerManager.js';
import { tellFlags } from '../stock/fixedFlags.js';
import { withVersionFlag } from '../stock/versionFlag.js';
import type { Terminal } from '../terminal.js';
import { COMPONENT, controllersOptions, type Flags, withFlags } from './flags.js';

export function controllerManagerCommand(terminal: Terminal): Command {
  const command = new Command('controller-manager')
    .summary('run the controllers alone, against any apiserver')
    .description('Runs the controllers against the apiserver of a kubeconfig, while it holds the lease.');
  return withFlags(withVersionFlag(command, terminal)).action((flags: Flags) => run(terminal, flags));
}

async function run(terminal: Terminal, flags: Flags): Promise<void> {
  const log = makeLog({
    component: 'controller-manager',
    level: levelOf(flags.v),
    format: flags.loggingFormat,
  });
  tellFlags(flags, CONTROLLER_MANAGER_TOLD, log.warn);
  try {
    const led = await manage(flags, log, endOfProcess());
    // Whoever lost the lease must not go on with what it believes to know.
    if (!led) terminal.setExitCode(1);
  } catch (error) {
    if (!isExpected(error)) throw error;
    terminal.writeError(`trellis: ${error.message}\n`);
    terminal.setExitCode(1);
  }
}

/** Makes a transport carry nothing once the lease is lost. */
type Fence = (transport: Transport) => Transport;

/** Resolves when the signal has ended it; with false when it lost the lease before. */
async function manage(flags: Flags, log: Log, signal: AbortSignal): Promise<boolean> {
  // Loaded only by the process that needs it.
  const { enabledControllers, runControllers } = await import('../../controllers/run.js');
  const connection = await connectionOf(flags);
  // A connection of its own: the lease must be renewed however busy the controllers are.
  const leaseClient = openClient(openHttps(connection));
  const rootCa = flags.rootCaFile === undefined ? '' : await readText(flags.rootCaFile);
  const options = { ...controllersOptions(flags, rootCa), ...(await signingOf(flags)) };
  // Before the lease: who cannot work must not keep others from it.
  enabledControllers(options);
  const serving = await servingOf(flags, COMPONENT);
  const lease = { name: flags.leaderElectResourceName, namespace: flags.leaderElectResourceNamespace };
  // Each controller waits for its own copies; none holds the others up.
  const progress: Progress = { isLeading: false, hasSynced: true };
  const component = { client: leaseClient, lease: lease.name, progress, metrics: [], log };
  const server = serving === undefined ? undefined : await serveComponent(component, serving);
  const lead = async (stop: AbortSignal, fence: Fence): Promise<void> => {
    progress.isLeading = true;
    const client = openClient(fence(openHttps(connection)));
    const accounts = flags.useServiceAccountCredentials ? accountsOf(connection, client, fence) : undefined;
    const informers = openInformers(client, { log });
    try {
      await runControllers({ client, ...accounts?.clients, informers, log, signal: stop, ...options });
    } finally {
      progress.isLeading = false;
      informers.stop();
      accounts?.close();
      client.close();
    }
  };
  try {
    if (!flags.leaderElect) await lead(signal, (transport) => transport);
    else
      await runLeaderElection({
        client: leaseClient,
        signal,
        log,
        lease,
        lead: (term) => lead(term.signal, (transport) => term.fence(transport)),
        identity: `${hostname()}_${randomUUID()}`,
        leaseDurationMs: flags.leaderElectLeaseDuration,
        renewDeadlineMs: flags.leaderElectRenewDeadline,
        retryPeriodMs: flags.leaderElectRetryPeriod,
      });
    return signal.aborted;
  } finally {
    await server?.close();
    leaseClient.close();
  }
}

async function connectionOf({ kubeconfig, master }: Flags): Promise<HttpsOptions> {
  const connection = await readKubeconfig(kubeconfig);
  return { ...connection, server: master ?? connection.server };
}

/** The same server by connections that say nothing of who we are: each request carries its account's token. */
function accountsOf({ cert, key, token, tokenFile, ...server }: HttpsOptions, issuer: Client, fence: Fence) {
  const transport = fence(openHttps(server));
  return {
    clients: {
      clientFor: (name: string) =>
        openClient(
          openAccountTransport({ transport, issuer, account: { name, namespace: ACCOUNT_NAMESPACE } }),
        ),
    },
    close: () => transport.close(),
  };
}

async function signingOf(flags: Flags): Promise<Pick<ControllersOptions, 'signing'>> {
  const { clusterSigningCertFile: certFile, clusterSigningKeyFile: keyFile } = flags;
  if (certFile === undefined && keyFile === undefined) return {};
  if (certFile === undefined || keyFile === undefined)
    throw new ClientError(
      'CONFIG',
      '--cluster-signing-cert-file and --cluster-signing-key-file must be given together',
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

function endOfProcess(): AbortSignal {
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort());
  return ending.signal;
}
