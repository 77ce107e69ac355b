// How many requests may be worked on at once: reads and writes apart, as --max-requests-inflight and its sibling say.
// Guarantees: one user holds at most half of the places; watches and other long requests hold no place; members of system:masters are never refused.
import { statusError } from '../../api/status.js';
import { Tally } from '../../base/tally.js';
import { isLongRunning, isReadOnly, type RequestTrace } from '../requestTrace.js';

export interface InFlightOptions {
  /** --max-requests-inflight; 0 is no limit. */
  readonly maxReading?: number;
  /** --max-mutating-requests-inflight; 0 is no limit. */
  readonly maxMutating?: number;
}

type RequestKind = 'readOnly' | 'mutating';

export interface InFlight {
  readonly current: Readonly<Record<RequestKind, number>>;
  readonly dropped: Readonly<Record<RequestKind, number>>;
  /** Takes a place and answers how to give it back. Throws TooManyRequests. */
  enter(trace: RequestTrace): (() => void) | undefined;
}

const DEFAULTS = { maxReading: 400, maxMutating: 200 };
const RETRY_AFTER_SECONDS = 1;
const PRIVILEGED = 'system:masters';

export function makeInFlight(options: InFlightOptions = {}): InFlight {
  const { maxReading, maxMutating } = { ...DEFAULTS, ...options };
  const limits = { readOnly: maxReading, mutating: maxMutating };
  const held = { readOnly: new Tally(), mutating: new Tally() };
  const dropped = { readOnly: 0, mutating: 0 };
  return {
    get current() {
      return { readOnly: held.readOnly.all, mutating: held.mutating.all };
    },
    dropped,
    enter(trace) {
      // The server's own callers would wait for places that are held by those who wait for them.
      if (trace.request.user !== undefined || isLongRunning(trace)) return undefined;
      const kind: RequestKind = isReadOnly(trace) ? 'readOnly' : 'mutating';
      const limit = limits[kind];
      const user = trace.caller?.name ?? '';
      const isFull = limit > 0 && (held[kind].all >= limit || held[kind].of(user) >= Math.ceil(limit / 2));
      if (isFull && trace.caller?.groups.includes(PRIVILEGED) !== true) {
        dropped[kind] += 1;
        throw statusError('TooManyRequests', 'Too many requests, please try again later.', {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      }
      return held[kind].take(user);
    },
  };
}
