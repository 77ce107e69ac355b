// Work that one server of a cluster does at a time: while it holds the lease, as stock components do.
// Guarantees: a server that loses its lease writes nothing more from that moment, what it had sent before the next one began
// included, and stands again; a lease that nobody else holds is taken at once.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Log } from '../api/log.js';
import type { ObjectName } from '../api/object.js';
import type { UserInfo } from '../apiserver/identity.js';
import type { ApiServer } from '../apiserver/server.js';
import { pause } from '../base/deadline.js';
import type { Client } from '../client/client.js';
import { ClientError } from '../client/error.js';
import type { Informers } from '../client/informer.js';
import { runLeaderElection } from '../client/leaderElection.js';
import type { LeaderTerm } from '../client/leaderTerm.js';
import { openInformers } from '../client/sharedInformers.js';
import type { SharedObjects } from '../client/sharedObjects.js';
import { openClient } from '../client/typedClient.js';
import type { Check } from '../store/store.js';

export interface LeaseTimes {
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** With others on the same etcd: the next one leads within some twelve seconds of a crash. */
export const AMONG_OTHERS: LeaseTimes = {
  leaseDurationMs: 10_000,
  renewDeadlineMs: 7_000,
  retryPeriodMs: 1_000,
};
/** An embedded store has one server: the lease is for those outside, and each renewal is a write to disk. */
const ALONE: LeaseTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 5_000 };
/** Between two tries to begin a term. */
const RETRY_MS = 20;

export interface LeadingOptions {
  readonly apiserver: ApiServer;
  readonly shared: SharedObjects;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** False for a store that is this server's alone. */
  readonly hasOthers: boolean;
  /** The cluster on this machine, of which there is one process at a time. */
  readonly id: string;
  /** In place of the usual ones. */
  readonly times: LeaseTimes | undefined;
}

export interface Leading {
  readonly client: Client;
  clientAs(user: UserInfo): Client;
  readonly informers: Informers;
  readonly log: Log;
  /** Ends the work. */
  readonly signal: AbortSignal;
}

/** `component` is the name of the lease, and of the user. Resolves after the signal; rejects when the work fails. */
export async function whileLeading(
  options: LeadingOptions,
  component: string,
  work: (leading: Leading) => Promise<void>,
): Promise<void> {
  const { apiserver, hasOthers, id, signal } = options;
  const log = options.log.with({ part: component.replace('kube-', '') });
  const user = { name: `system:${component}`, groups: ['system:authenticated'] };
  // Where nobody else can be, the one before us is us: after a crash it is not waited for.
  const identity = `${hostname()}_${hasOthers ? randomUUID() : id}`;
  const client = openClient(apiserver.inProcess(user));
  const lease = { name: component, namespace: 'kube-system' };
  const lead = (term: LeaderTerm) => workFor(term, { ...options, log, lease }, user, work);
  const times = options.times ?? (hasOthers ? AMONG_OTHERS : ALONE);
  try {
    while (!signal.aborted) await runLeaderElection({ client, lease, identity, lead, signal, log, ...times });
  } finally {
    client.close();
  }
}

async function workFor(
  term: LeaderTerm,
  options: LeadingOptions & { readonly lease: ObjectName },
  user: UserInfo,
  work: (leading: Leading) => Promise<void>,
): Promise<void> {
  const { apiserver, shared, log, hasOthers } = options;
  // The clock keeps a leader that slept from writing; what it had sent already is kept out by the store.
  const check = hasOthers ? await begin(term, options) : undefined;
  const clientAs = (whom: UserInfo) => openClient(term.fence(apiserver.inProcess(whom, check)));
  const client = clientAs(user);
  const informers = openInformers(client, { log, shared });
  try {
    await work({ client, clientAs, informers, log, signal: term.signal });
  } finally {
    informers.stop();
    client.close();
  }
}

/** Tried again when the lease was renewed meanwhile. */
async function begin(
  term: LeaderTerm,
  { apiserver, lease }: LeadingOptions & { readonly lease: ObjectName },
): Promise<Check> {
  for (;;) {
    const check = await apiserver.beginTerm({ ...lease, resourceVersion: term.leaseVersion });
    if (check !== undefined) return check;
    if (!term.isHeld) throw new ClientError('CLOSED', 'the lease was lost before the work began');
    await pause(RETRY_MS, term.signal);
  }
}
