// A scheduler as a process of its own: waits for leadership, then schedules until it loses it.
// Guarantees: two schedulers of one cluster never choose at the same time while leader election is on; health is served
// first.
import type { Log } from '../api/log.js';
import type { Client } from '../client/client.js';
import { makeEventRecorder } from '../client/eventRecorder.js';
import { runLeaderElection } from '../client/leaderElection.js';
import type { LeaderTerm } from '../client/leaderTerm.js';
import { type Progress, type Serving, serveComponent } from '../client/serving.js';
import { openInformers } from '../client/sharedInformers.js';
import type { Transport } from '../client/transport.js';
import { openClient } from '../client/typedClient.js';
import type { SchedulerConfiguration } from './configuration/configuration.js';
import { Extender } from './extenders/extender.js';
import { SchedulerMetrics } from './metrics.js';
import { Scheduler } from './scheduler.js';

export interface StandaloneOptions {
  /** A way to the apiserver: one for the lease and for health, one for each term. */
  openTransport(): Transport;
  readonly configuration: SchedulerConfiguration;
  /** Unique among the schedulers of the cluster. */
  readonly identity: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Where health and metrics are told; nowhere when absent. */
  readonly serving?: Serving;
}

/** Resolves with true after the signal, with false when the lease was lost; a process then ends. */
export async function runStandalone(options: StandaloneOptions): Promise<boolean> {
  const { configuration, identity, log, signal, serving } = options;
  const client = openClient(options.openTransport());
  const { leaderElect, resourceName, resourceNamespace, ...times } = configuration.leaderElection;
  const metrics = new SchedulerMetrics();
  const progress: Progress = { isLeading: false, hasSynced: false };
  const component = { client, lease: resourceName, progress, metrics: metrics.families, log };
  const server = serving === undefined ? undefined : await serveComponent(component, serving);
  const lead = async (stop: AbortSignal, transport: Transport) => {
    progress.isLeading = true;
    const own = openClient(transport);
    try {
      await work(options, { client: own, stop, metrics, progress });
    } finally {
      progress.isLeading = false;
      own.close();
    }
  };
  const lease = { name: resourceName, namespace: resourceNamespace };
  try {
    if (leaderElect) {
      const fenced = (term: LeaderTerm) => lead(term.signal, term.fence(options.openTransport()));
      await runLeaderElection({ client, lease, identity, lead: fenced, signal, log, ...times });
    } else await lead(signal, options.openTransport());
    return signal.aborted;
  } finally {
    await server?.close();
    client.close();
  }
}

interface Work {
  readonly client: Client;
  readonly stop: AbortSignal;
  readonly metrics: SchedulerMetrics;
  readonly progress: Progress;
}

async function work(
  { configuration, log }: StandaloneOptions,
  { client, stop, metrics, progress }: Work,
): Promise<void> {
  const { profiles, podInitialBackoffMs, podMaxBackoffMs } = configuration;
  const informers = openInformers(client, { log });
  const component = profiles[0]?.schedulerName ?? 'default-scheduler';
  const recorder = makeEventRecorder(client, { component, log });
  const extenders = configuration.extenders.map((settings) => new Extender(settings));
  const running = new Scheduler({
    client,
    extenders,
    informers,
    slimPods: true,
    log,
    recorder,
    signal: stop,
    profiles,
    podInitialBackoffMs,
    podMaxBackoffMs,
    metrics,
  }).run();
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
