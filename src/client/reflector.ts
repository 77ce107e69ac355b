// Follows one resource for ever: list, watch from there, resume where it broke off, list again when too far behind.
// Guarantees: news arrive in the server's order; a watch resumes after the last version that was delivered; that the server
// does not serve the kind is told once, until it does.
import type { Log } from '../api/log.js';
import type { KubeObject } from '../api/object.js';
import { ApiError } from '../api/status.js';
import { BackOff } from '../base/backOff.js';
import { pause } from '../base/deadline.js';
import { messageOf } from '../base/errorMessage.js';
import type { ObjectList, ResourceClient, WatchEvent } from './client.js';
import { ClientError } from './error.js';
import type { InformerOptions } from './informer.js';

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: ResourceClient<T>;
  readonly what: string;
  readonly query: InformerOptions<T>;
  onList(list: ObjectList<T>): void;
  onEvent(event: WatchEvent<T>): void;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly now?: () => number;
  readonly random?: () => number;
  readonly pause?: (delayMs: number, signal?: AbortSignal) => Promise<void>;
}

/** A watch is renewed after five to ten minutes, spread so that a server's watchers do not all come back at once. */
const WATCH_SECONDS = 300;
/** A watch that lasted this long was a good one, even if nothing happened. */
const GOOD_WATCH_MS = 5_000;
const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;

/** Resolves when the signal is aborted; never rejects. */
export async function runReflector<T extends KubeObject>(options: ReflectorOptions<T>): Promise<void> {
  const { log, signal, what, now = Date.now, random = Math.random, pause: wait = pause } = options;
  const backoff = new BackOff({ firstMs: FIRST_DELAY_MS, longestMs: LONGEST_DELAY_MS, random });
  let version: string | undefined;
  let isKnownMissing = false;
  while (!signal.aborted) {
    try {
      if (version === undefined) version = await list(options);
      isKnownMissing = false;
      const started = now();
      const count = await watch(options, version, (reached) => {
        version = reached;
        backoff.reset();
      });
      // A server that ends every watch at once must not be asked in a tight loop.
      if (now() - started >= GOOD_WATCH_MS) backoff.reset();
      else if (count === 0) log.debug('the watch ended at once', { resource: what });
    } catch (error) {
      if (signal.aborted || ClientError.is(error, 'CLOSED')) return;
      if (isTooOld(error)) {
        log.debug('the watch is too far behind, listing again', { resource: what });
        version = undefined;
      } else if (isNotServed(error)) {
        // Its versions went with it.
        version = undefined;
        if (!isKnownMissing)
          log.warn('the server does not serve the resource; waiting until it does', { resource: what });
        isKnownMissing = true;
      } else {
        log.warn('cannot follow the resource, will try again', { resource: what, error: messageOf(error) });
      }
    }
    await wait(backoff.next(), signal);
  }
}

async function list<T extends KubeObject>({ client, query, onList, signal }: ReflectorOptions<T>) {
  const answer = await client.list(query);
  if (!signal.aborted) onList(answer);
  return answer.resourceVersion;
}

/** Answers how many events came. */
async function watch<T extends KubeObject>(
  { client, query, onEvent, signal, random = Math.random }: ReflectorOptions<T>,
  from: string,
  reached: (version: string) => void,
): Promise<number> {
  const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + random()));
  let count = 0;
  const following = { ...query, resourceVersion: from, timeoutSeconds, signal, ignoresManagers: true };
  for await (const event of client.watch(following)) {
    if (signal.aborted) break;
    onEvent(event);
    // Delivered first, remembered second: a break between the two repeats an event, which the cache recognises.
    reached(event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion);
    count += 1;
  }
  return count;
}

function isTooOld(error: unknown): boolean {
  return (
    error instanceof ApiError && (error.code === 410 || error.reason === 'Expired' || error.reason === 'Gone')
  );
}

/** A kind whose definition was removed, or that is not there yet. */
const isNotServed = (error: unknown): boolean => error instanceof ApiError && error.code === 404;
