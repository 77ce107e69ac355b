// A scheduler as a process of its own: leader among its like, then at work until it no longer is.
// Guarantees: two schedulers of one cluster never choose at the same time while leader election is on; health is served first.
import type { Log } from '../api/log.js';
import { Gauge } from '../api/metrics.js';
import type { Client } from '../client/client.js';
import { openComponentServer } from '../client/componentServer.js';
import { delegateAccess } from '../client/delegatedAccess.js';
import { makeEventRecorder } from '../client/eventRecorder.js';
import { runLeaderElection } from '../client/leaderElection.js';
import type { Listening } from '../client/listen.js';
import { processMetrics } from '../client/processMetrics.js';
import { openInformers } from '../client/sharedInformers.js';
import type { SchedulerConfiguration } from './configuration/configuration.js';
import { Extender } from './extenders/extender.js';
import { SchedulerMetrics } from './metrics.js';
import { runScheduler } from './scheduler.js';

export interface StandaloneOptions {
  readonly client: Client;
  readonly configuration: SchedulerConfiguration;
  /** Unique among the schedulers of the cluster. */
  readonly identity: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Where health and metrics are told; nowhere when absent. */
  readonly serving?: Serving;
}

export interface Serving {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string; readonly clientCa?: string };
  /** Ask the apiserver who a caller is, and what it may; the scheduler's own client when absent. */
  readonly tokens?: Client | undefined;
  readonly rights?: Client | undefined;
  listening?(port: number): void;
}

/** What the process is doing, for whoever asks. */
interface Progress {
  isLeading: boolean;
  hasSynced: boolean;
}

/** Resolves after the signal, or when the lease was lost; a process then ends. */
export async function runStandalone(options: StandaloneOptions): Promise<void> {
  const { client, configuration, identity, log, signal, serving } = options;
  const { leaderElect, resourceName, resourceNamespace, ...times } = configuration.leaderElection;
  const metrics = new SchedulerMetrics();
  const progress: Progress = { isLeading: false, hasSynced: false };
  const server = serving === undefined ? undefined : await serve(options, serving, { metrics, progress });
  const lead = async (term: AbortSignal) => {
    progress.isLeading = true;
    await work(options, { term, metrics, progress });
  };
  const lease = { name: resourceName, namespace: resourceNamespace };
  try {
    if (leaderElect) await runLeaderElection({ client, lease, identity, lead, signal, log, ...times });
    else await lead(signal);
  } finally {
    await server?.close();
  }
}

async function serve(
  { client, configuration, log }: StandaloneOptions,
  { host, port, tls, tokens = client, rights = client, listening }: Serving,
  { metrics, progress }: { metrics: SchedulerMetrics; progress: Progress },
): Promise<Listening> {
  const name = configuration.leaderElection.resourceName;
  const leading = new Gauge(
    {
      name: 'leader_election_master_status',
      help: 'Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.',
    },
    () => [[{ name }, progress.isLeading ? 1 : 0]],
  );
  // One that waits for the lease is ready to take it.
  const synced = () =>
    progress.isLeading && !progress.hasSynced ? 'the informers have not synced yet' : undefined;
  const server = await openComponentServer({
    host,
    port,
    tls,
    access: {
      authenticate: delegateAccess({ client: tokens, log }).authenticate,
      authorize: delegateAccess({ client: rights, log }).authorize,
    },
    checks: { live: {}, ready: { 'informer-sync': synced } },
    metrics: [...metrics.families, leading, ...processMetrics()],
    log,
  });
  log.info('serving health and metrics', { host, port: server.port });
  listening?.(server.port);
  return server;
}

async function work(
  { client, configuration, log }: StandaloneOptions,
  { term, metrics, progress }: { term: AbortSignal; metrics: SchedulerMetrics; progress: Progress },
): Promise<void> {
  const { profiles, podInitialBackoffMs, podMaxBackoffMs } = configuration;
  const informers = openInformers(client, { log });
  const component = profiles[0]?.schedulerName ?? 'default-scheduler';
  const recorder = makeEventRecorder(client, { component, log });
  const extenders = configuration.extenders.map((settings) => new Extender(settings));
  const running = runScheduler({
    client,
    extenders,
    informers,
    log,
    recorder,
    signal: term,
    profiles,
    podInitialBackoffMs,
    podMaxBackoffMs,
    metrics,
  });
  try {
    void informers.synced().then(() => {
      progress.hasSynced = true;
    });
    await running;
    await recorder.flush();
  } finally {
    informers.stop();
    for (const extender of extenders) extender.close();
  }
}
