// One leader among several processes, by a Lease that the leader keeps renewing.
// Guarantees: who cannot renew stops leading before another may start, and writes nothing more from then on; a renewal counts
// from before its request; clocks are never compared between machines.
import type { V1Lease, V1LeaseSpec } from '../api/gen/types.js';
import { type Log, silentLog } from '../api/log.js';
import type { ObjectName, Stored } from '../api/object.js';
import { LEASES } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { pause, within } from '../base/deadline.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from './client.js';
import { LeaderTerm } from './leaderTerm.js';

interface LeaderElectionOptions {
  readonly client: Client;
  readonly lease: ObjectName;
  /** Unique among the candidates, such as host name and a random part. */
  readonly identity: string;
  /**
   * Runs while this process leads, on clients fenced by the term; ends soon after the term's signal. The lease's own client
   * is not to be among them: the lease must be renewed however busy the work is.
   */
  lead(term: LeaderTerm): Promise<void>;
  /** Ends the candidacy; a lease that is held is given back. */
  readonly signal: AbortSignal;
  readonly log?: Log;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  readonly now?: () => number;
  readonly pause?: (delayMs: number, signal?: AbortSignal) => Promise<void>;
}

/** The lease as last seen, and when we (not its writer) saw it change. */
interface Observation {
  readonly lease: Stored<V1Lease>;
  readonly seenAt: number;
}

/**
 * Resolves when the signal is aborted, when leadership was lost, or when `lead` has ended; a process whose lease was lost
 * usually exits.
 */
export async function runLeaderElection(options: LeaderElectionOptions): Promise<void> {
  const { lead, signal, identity, log = silentLog } = options;
  const times = timesOf(options);
  const candidate = makeCandidate(options, times.leaseDurationMs);
  const { now, wait } = times;

  let since = now();
  // An answer that took as long as the lease is worth is none: it is asked for again.
  const isFresh = () => now() - since < times.renewDeadlineMs;
  while (!signal.aborted && !((await candidate.tryHold()) && isFresh())) {
    await wait(times.retryPeriodMs * (1 + Math.random() * 0.2), signal);
    since = now();
  }
  if (signal.aborted) return candidate.release();
  log.info('became leader', { identity, lease: options.lease.name });

  const term = new LeaderTerm({
    since,
    lastsMs: times.renewDeadlineMs,
    now,
    leaseVersion: candidate.version,
  });
  const work = lead(term).finally(() => term.resign());
  // Handled below; until then a failure must not count as unhandled.
  work.catch(() => {});
  const resign = () => term.resign();
  signal.addEventListener('abort', resign, { once: true });
  if (signal.aborted) resign();
  while (!term.signal.aborted) {
    await wait(Math.min(times.retryPeriodMs, term.leftMs), term.signal);
    if (term.signal.aborted) break;
    const started = now();
    // A server that does not answer is as good as one that refuses.
    const held = await within(candidate.tryHold(), term.leftMs, () => false, wait);
    // An answer that came too late is none: others may have taken the lease meanwhile.
    if (held && term.isHeld) term.renewed(started);
    else if (candidate.isOthers() || !term.isHeld) {
      log.error('lost the lease, no longer leader', { identity, lease: options.lease.name });
      term.lose();
    }
  }
  signal.removeEventListener('abort', resign);
  // Given back only when the work has ended: the next leader may start the moment the lease is free.
  await work
    .catch((error: unknown) => {
      // Its requests were cut off: what it says of that is of no interest.
      if (term.isHeld) throw error;
    })
    .finally(() => (term.isLost ? undefined : candidate.release()));
}

function timesOf({
  leaseDurationMs = 15_000,
  renewDeadlineMs = 10_000,
  retryPeriodMs = 2_000,
  now = () => performance.now(),
  pause: wait = pause,
}: LeaderElectionOptions) {
  if (!(leaseDurationMs > renewDeadlineMs && renewDeadlineMs > retryPeriodMs && retryPeriodMs > 0)) {
    throw new RangeError('leader election needs leaseDuration > renewDeadline > retryPeriod > 0');
  }
  return { leaseDurationMs, renewDeadlineMs, retryPeriodMs, now, wait };
}

function makeCandidate(options: LeaderElectionOptions, leaseDurationMs: number) {
  const { client, lease: name, identity, log = silentLog, now = () => performance.now() } = options;
  const leases = client.of(LEASES);
  let observed: Observation | undefined;

  const observe = (lease: Stored<V1Lease>) => {
    const same = observed?.lease.metadata.resourceVersion === lease.metadata.resourceVersion;
    observed = same && observed !== undefined ? observed : { lease, seenAt: now() };
    return observed;
  };
  const holder = () => observed?.lease.spec.holderIdentity ?? '';

  const hold = async (): Promise<boolean> => {
    let current: Stored<V1Lease>;
    try {
      current = await leases.get(name);
    } catch (error) {
      if (!ApiError.is(error, 'NotFound')) throw error;
      observe(await leases.create({ metadata: name, spec: specFor({ identity, leaseDurationMs }) }));
      return true;
    }
    const { seenAt } = observe(current);
    const { holderIdentity = '', leaseDurationSeconds = leaseDurationMs / 1000 } = current.spec;
    const expired = now() - seenAt >= leaseDurationSeconds * 1000;
    if (holderIdentity !== '' && holderIdentity !== identity && !expired) return false;
    const spec = specFor({ identity, leaseDurationMs, before: current.spec });
    observe(await leases.update({ ...current, spec }));
    return true;
  };

  return {
    version: () => observed?.lease.metadata.resourceVersion ?? '',
    isOthers: () => holder() !== '' && holder() !== identity,
    async tryHold(): Promise<boolean> {
      try {
        return await hold();
      } catch (error) {
        // Another candidate was faster: its lease is seen on the next try.
        if (!ApiError.is(error, 'Conflict', 'AlreadyExists')) {
          log.warn('cannot renew or take the lease', { lease: name.name, error: messageOf(error) });
        }
        return false;
      }
    },
    async release(): Promise<void> {
      if (observed === undefined || holder() !== identity) return;
      const spec = { ...observed.lease.spec, holderIdentity: '', leaseDurationSeconds: 1 };
      try {
        await leases.update({ ...observed.lease, spec });
      } catch (error) {
        log.debug('the lease was not given back, it will expire', { error: messageOf(error) });
      }
    },
  };
}

interface Claim {
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly before?: V1LeaseSpec;
}

function specFor({ identity, leaseDurationMs, before }: Claim): V1LeaseSpec {
  // Lease times are MicroTime: six digits after the point.
  const time = new Date().toISOString().replace('Z', '000Z');
  const kept = before?.holderIdentity === identity;
  const transitions = before?.leaseTransitions ?? 0;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
    acquireTime: kept ? before.acquireTime : time,
    renewTime: time,
    leaseTransitions: before === undefined || kept ? transitions : transitions + 1,
  };
}
