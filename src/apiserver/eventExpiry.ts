// Events are kept for a time after they were last seen, and then deleted, as with --event-ttl in Kubernetes.
// Guarantees: looks at least every five minutes and holds no event whole; an event that is seen again lives on; failures are tried again.
import type { CoreV1Event } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import type { KubeObject, Stored } from '../api/object.js';
import { EVENTS } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from '../client/client.js';

export const EVENT_TTL_MS = 3_600_000;
const LONGEST_PAUSE_MS = 300_000;
const SHORTEST_PAUSE_MS = 1000;
const PAGE = 500;

/** When it was last seen, in milliseconds since 1970. Pure. */
export function lastSeen({ metadata, lastTimestamp, eventTime, series }: Stored<CoreV1Event>): number {
  const times = [metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime];
  return Math.max(...times.map((time) => (time == null ? 0 : Date.parse(String(time)) || 0)));
}

/** Call what it returns to end it. */
export function expireEvents(options: {
  readonly client: Client;
  readonly ttlMs: number;
  readonly log: Log;
  now?(): number;
}): () => void {
  const { ttlMs, log } = options;
  const pauseMs = Math.min(Math.max(ttlMs / 10, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
  let isRunning = false;
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    deleteOld(options)
      .catch((error: unknown) => log.warn('old events could not be deleted', { error: messageOf(error) }))
      .finally(() => {
        isRunning = false;
      });
  }, pauseMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Ends with the first refusal that is not "gone already". */
async function deleteOld({
  client,
  ttlMs,
  now = Date.now,
}: Parameters<typeof expireEvents>[0]): Promise<void> {
  const events = client.of(EVENTS);
  const { items } = await events.list({ limit: PAGE, keep: timesOf });
  for (const event of items.filter((one) => lastSeen(one) < now() - ttlMs)) {
    const { name, namespace = '', uid } = event.metadata;
    // One of the same name that came meanwhile is another one.
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    await events.delete({ name, namespace }, preconditions).catch((error: unknown) => {
      if (!ApiError.is(error, 'NotFound', 'Conflict')) throw error;
    });
  }
}

/** What is needed of each: a long list is not held whole. */
function timesOf(object: Stored<KubeObject>): Stored<KubeObject> {
  const { metadata, lastTimestamp, eventTime, series } = object as Stored<CoreV1Event>;
  const { name, namespace, uid, creationTimestamp, resourceVersion } = metadata;
  const kept = {
    metadata: { name, namespace, uid, creationTimestamp, resourceVersion },
    lastTimestamp,
    eventTime,
    series,
  };
  return kept as Stored<KubeObject>;
}
