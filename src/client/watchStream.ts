// A watch as a sequence of events: the request, its lines, and what each line says.
// Guarantees: ends normally with the server or the signal, and when nothing has come for a while, bookmarks included: then
// the connection is dead, whatever it looks like; an ERROR event is thrown as the Status it carries.
import type { V1Status } from '../api/gen/types.js';
import type { KubeObject, Stored } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { decode, linesOf, readBody, refusalOf } from './answer.js';
import type { WatchEvent, WatchQuery } from './client.js';
import { ClientError } from './error.js';
import { acceptOf, wireRequest } from './request.js';
import { collectionPath, selectorQuery, withQuery } from './resourcePath.js';
import type { Transport } from './transport.js';

interface WatchRequest<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly query: WatchQuery;
  readonly transport: Transport;
  readonly closing: AbortSignal;
  /** How long a watch may be silent: 75 to 90 s by default, spread so that not all come back at once. */
  readonly silenceMs?: number | undefined;
}

/** Servers send a bookmark every minute. */
const SILENCE_MS = { least: 75_000, spread: 15_000 };

export async function* watchEvents<T extends KubeObject>({
  type,
  query,
  transport,
  closing,
  silenceMs = SILENCE_MS.least + Math.random() * SILENCE_MS.spread,
}: WatchRequest<T>): AsyncGenerator<WatchEvent<T>> {
  const { signal } = query;
  if (signal?.aborted === true || closing.aborted) return;
  const stop = new AbortController();
  const end = () => stop.abort();
  const silence = setTimeout(end, silenceMs);
  signal?.addEventListener('abort', end, { once: true });
  closing.addEventListener('abort', end, { once: true });
  try {
    const call = { method: 'GET', path: watchPath(type, query), accept: acceptOf('object', query) } as const;
    const { ignoresManagers: takesObjects = false } = query;
    const response = await transport.request({ ...wireRequest(call, stop.signal), takesObjects });
    if (response.status >= 400) throw refusalOf(response.status, await readBody(response));
    // The bytes are not parsed where the server has the object at hand.
    for await (const told of response.events ?? linesOf(response.body)) {
      silence.refresh();
      yield kept(eventOf<T>(told, type), query);
    }
  } catch (error) {
    // Cut by us, possibly in the middle of a line: that is an end, not a failure.
    if (!stop.signal.aborted) throw error;
  } finally {
    clearTimeout(silence);
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

function eventOf<T extends KubeObject>(
  told: Uint8Array | WireEvent,
  { resource }: ResourceType,
): WatchEvent<T> {
  const event = told instanceof Uint8Array ? decode<WireEvent | null>(told, `an event of ${resource}`) : told;
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
