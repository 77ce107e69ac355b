// A scheduler as a process of its own: leader among its like, then at work until it no longer is.
// Guarantees: two schedulers of one cluster never choose at the same time while leader election is on.
import type { Log } from '../api/log.js';
import type { Client } from '../client/client.js';
import { makeEventRecorder } from '../client/eventRecorder.js';
import { runLeaderElection } from '../client/leaderElection.js';
import { openInformers } from '../client/sharedInformers.js';
import type { SchedulerConfiguration } from './configuration/configuration.js';
import { runScheduler } from './scheduler.js';

export interface StandaloneOptions {
  readonly client: Client;
  readonly configuration: SchedulerConfiguration;
  /** Unique among the schedulers of the cluster. */
  readonly identity: string;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Resolves after the signal, or when the lease was lost; a process then ends. */
export async function runStandalone(options: StandaloneOptions): Promise<void> {
  const { client, configuration, identity, log, signal } = options;
  const { leaderElect, resourceName, resourceNamespace, ...times } = configuration.leaderElection;
  const lead = (term: AbortSignal) => work(options, term);
  if (!leaderElect) return lead(signal);
  const lease = { name: resourceName, namespace: resourceNamespace };
  await runLeaderElection({ client, lease, identity, lead, signal, log, ...times });
}

async function work({ client, configuration, log }: StandaloneOptions, signal: AbortSignal): Promise<void> {
  const { profiles, podInitialBackoffMs, podMaxBackoffMs } = configuration;
  const informers = openInformers(client, { log });
  const component = profiles[0]?.schedulerName ?? 'default-scheduler';
  const recorder = makeEventRecorder(client, { component, log });
  try {
    await runScheduler({
      client,
      informers,
      log,
      recorder,
      signal,
      profiles,
      podInitialBackoffMs,
      podMaxBackoffMs,
    });
    await recorder.flush();
  } finally {
    informers.stop();
  }
}
