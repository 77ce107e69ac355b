// Health and metrics of a component that runs alone: who may read them, whether it leads, whether its caches are complete.
// Guarantees: a component that waits for the lease is ready; a leader is ready when its caches are complete.
import type { Log } from '../api/log.js';
import { type Family, Gauge } from '../base/metrics.js';
import type { Client } from './client.js';
import { type ComponentServerOptions, openComponentServer } from './componentServer.js';
import { delegateAccess } from './delegatedAccess.js';
import type { Listening } from './listen.js';
import { processMetrics } from './processMetrics.js';

export interface Serving {
  readonly host: string;
  readonly port: number;
  readonly tls: ComponentServerOptions['tls'];
  /** Ask the apiserver who a caller is, and what it may; the component's own client when absent. */
  readonly tokens?: Client | undefined;
  readonly rights?: Client | undefined;
  listening?(port: number): void;
}

/** What the process is doing, for whoever asks. */
export interface Progress {
  isLeading: boolean;
  hasSynced: boolean;
}

interface ServedComponent {
  readonly client: Client;
  /** The name of its lease. */
  readonly lease: string;
  readonly progress: Readonly<Progress>;
  readonly metrics: readonly Family[];
  readonly log: Log;
}

export async function serveComponent(
  { client, lease, progress, metrics, log }: ServedComponent,
  { host, port, tls, tokens = client, rights = client, listening }: Serving,
): Promise<Listening> {
  const leading = new Gauge(
    {
      name: 'leader_election_master_status',
      help: 'Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.',
    },
    () => [[{ name: lease }, progress.isLeading ? 1 : 0]],
  );
  const synced = () =>
    progress.isLeading && !progress.hasSynced ? 'the informers have not synced yet' : undefined;
  const server = await openComponentServer({
    host,
    port,
    tls,
    log,
    access: {
      authenticate: delegateAccess({ client: tokens, log }).authenticate,
      authorize: delegateAccess({ client: rights, log }).authorize,
    },
    checks: { live: {}, ready: { 'informer-sync': synced } },
    metrics: [...metrics, leading, ...processMetrics()],
  });
  log.info('serving health and metrics', { host, port: server.port });
  listening?.(server.port);
  return server;
}
