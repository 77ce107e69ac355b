// A watch as a sequence of events: the request, its lines, and what each line says.
// Guarantees: ends normally with the server or the signal; an ERROR event is thrown as the Status it carries.
import type { V1Status } from '../api/gen/types.js';
import type { KubeObject, Stored } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { decode, linesOf, readBody, refusalOf } from './answer.js';
import type { WatchEvent, WatchQuery } from './client.js';
import { ClientError } from './error.js';
import { deepFreeze } from './freeze.js';
import { acceptOf, wireRequest } from './request.js';
import { collectionPath, selectorQuery, withQuery } from './resourcePath.js';
import type { Transport } from './transport.js';

export interface WatchRequest<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly query: WatchQuery;
  readonly transport: Transport;
  readonly closing: AbortSignal;
}

/** Past the server's own limit a silent connection is a dead one. */
const GRACE_MS = 30_000;

export async function* watchEvents<T extends KubeObject>({
  type,
  query,
  transport,
  closing,
}: WatchRequest<T>): AsyncGenerator<WatchEvent<T>> {
  const { signal, timeoutSeconds } = query;
  if (signal?.aborted === true || closing.aborted) return;
  const stop = new AbortController();
  const end = () => stop.abort();
  const timer = timeoutSeconds === undefined ? undefined : setTimeout(end, timeoutSeconds * 1000 + GRACE_MS);
  signal?.addEventListener('abort', end, { once: true });
  closing.addEventListener('abort', end, { once: true });
  try {
    const response = await transport.request(
      wireRequest(
        { method: 'GET', path: watchPath(type, query), accept: acceptOf('object', query) },
        stop.signal,
      ),
    );
    if (response.status >= 400) throw refusalOf(response.status, await readBody(response));
    const read = response.isShared === true ? sharedEventOf : eventOf;
    for await (const line of linesOf(response.body)) yield kept(read<T>(line, type), query);
  } catch (error) {
    // Cut by us, possibly in the middle of a line: that is an end, not a failure.
    if (!stop.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    stop.abort();
    signal?.removeEventListener('abort', end);
    closing.removeEventListener('abort', end);
  }
}

function watchPath(type: ResourceType, query: WatchQuery): string {
  return withQuery(collectionPath(type, query.namespace), [
    ['watch', true],
    ['allowWatchBookmarks', true],
    ...selectorQuery(query),
    ['resourceVersion', query.resourceVersion],
    ['timeoutSeconds', query.timeoutSeconds],
  ]);
}

function kept<T extends KubeObject>(event: WatchEvent<T>, { keep }: WatchQuery): WatchEvent<T> {
  if (keep === undefined || event.type === 'BOOKMARK') return event;
  return { type: event.type, object: keep(event.object) as Stored<T> };
}

interface WireEvent {
  readonly type?: unknown;
  readonly object?: KubeObject | null;
}

const shared = new WeakMap<Uint8Array, WatchEvent<KubeObject>>();

/** Read by the first who is sent the line; the others are given what it read, which nobody can change. */
function sharedEventOf<T extends KubeObject>(line: Uint8Array, type: ResourceType): WatchEvent<T> {
  const known = shared.get(line) as WatchEvent<T> | undefined;
  if (known !== undefined) return known;
  const event = deepFreeze(eventOf<T>(line, type));
  shared.set(line, event);
  return event;
}

function eventOf<T extends KubeObject>(line: Uint8Array, { resource }: ResourceType): WatchEvent<T> {
  const event = decode<WireEvent | null>(line, `an event of ${resource}`);
  const { type, object } = event ?? {};
  if (type === 'ERROR') throw new ApiError((object ?? {}) as V1Status);
  const resourceVersion = object?.metadata?.resourceVersion;
  if (typeof resourceVersion === 'string') {
    if (type === 'BOOKMARK') return { type, resourceVersion };
    if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')
      return { type, object: object as Stored<T> };
  }
  throw new ClientError('BAD_ANSWER', `an event of ${resource} has no known type or no resourceVersion`);
}
