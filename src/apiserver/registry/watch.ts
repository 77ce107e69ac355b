// WATCH: the state at the start if asked for, then every change to the selection, until the client or the time ends it.
// Guarantees: no change is lost, doubled or out of order between what a watcher saw last and what it sees next.
import type { KindDefinition } from '../../api/kind.js';
import { ApiError, statusError } from '../../api/status.js';
import type { Machinery } from '../machinery.js';
import { isTrue } from '../requestInfo.js';
import type { CachedObject } from './cached.js';
import { withinLine } from './encode.js';
import { listPrefix } from './keys.js';
import { Outbox } from './outbox.js';
import type { Change } from './resourceCache.js';
import { parseRevision, type Selection, selectionOf, tooLarge } from './selection.js';
import { transition, type WatchEventType } from './transition.js';

/** Writes one event's object in the form the client asked for, on one line. */
export type EventEncoder = (object: Buffer) => Buffer;

export interface WatchRequest {
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly query: URLSearchParams;
  /** Undefined for objects as they are stored. */
  readonly encode: EventEncoder | undefined;
  /** Makes the bytes of an event of its type and its object's JSON; an event is a line of JSON by default. */
  readonly frame?: ((type: EventType, object: Buffer) => Buffer) | undefined;
  /** What the client takes the objects for: bookmarks must look like them. */
  readonly shownAs: { readonly kind: string; readonly apiVersion: string };
  readonly signal: AbortSignal;
}

const BOOKMARK_MS = 60_000;
const MIN_TIMEOUT_S = 1800;
export type EventType = WatchEventType | 'BOOKMARK' | 'ERROR';

const HEADS: Readonly<Record<EventType, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
  BOOKMARK: Buffer.from('{"type":"BOOKMARK","object":'),
  ERROR: Buffer.from('{"type":"ERROR","object":'),
};
const TAIL = Buffer.from('}\n');

interface Start {
  /** Undefined: the current state comes first, as synthetic additions. */
  readonly after: number | undefined;
  readonly initialEventsEnd: boolean;
}

export async function watchObjects(machinery: Machinery, request: WatchRequest): Promise<Outbox> {
  const { feed } = machinery;
  const { kind, query, signal } = request;
  const selection = selectionOf(kind, query);
  const timeoutMs = parseTimeout(query.get('timeoutSeconds'));
  const start = await startOf(machinery, query);
  const bookmarks = isTrue(query.get('allowWatchBookmarks'));

  const release: (() => void)[] = [];
  const outbox = new Outbox(() => {
    for (const give of release) give();
  });
  const watcher = new Watcher(outbox, request, selection);
  const bookmark = () => bookmarks && watcher.bookmark(feed.revision, {});

  // From here to listen() nothing may wait: a change in between would be lost.
  try {
    watcher.begin(machinery, start);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    watcher.error(error);
    outbox.end();
    return outbox;
  }
  if (start.initialEventsEnd && bookmarks) {
    watcher.bookmark(feed.revision, { 'k8s.io/initial-events-end': 'true' });
  }
  release.push(
    feed.cacheOf(kind).listen({
      onChange: (change) => watcher.change(change),
      onReset: () => outbox.end(),
    }),
  );
  const ticking = setInterval(bookmark, BOOKMARK_MS);
  const ending = setTimeout(() => {
    bookmark();
    outbox.end();
  }, timeoutMs);
  const abort = () => outbox.cut();
  signal.addEventListener('abort', abort, { once: true });
  release.push(
    () => clearInterval(ticking),
    () => clearTimeout(ending),
    () => signal.removeEventListener('abort', abort),
  );
  if (signal.aborted) outbox.cut();
  return outbox;
}

class Watcher {
  readonly #prefix: string;

  constructor(
    private readonly outbox: Outbox,
    private readonly request: WatchRequest,
    private readonly selection: Selection,
  ) {
    this.#prefix = listPrefix(request.kind.type, request.namespace);
  }

  begin({ feed }: Machinery, { after }: Start): void {
    const cache = feed.cacheOf(this.request.kind);
    if (after === undefined) {
      const objects = [...cache.range(this.#prefix)].filter((object) => this.selection.matches(object));
      this.outbox.beginning = this.#additions(objects);
      return;
    }
    this.outbox.beginning = this.#changes(cache.changesAfter(after));
  }

  *#changes(changes: readonly Change[]): Generator<Buffer> {
    for (const change of changes) yield* this.#transition(change);
  }

  *#additions(objects: readonly CachedObject[]): Generator<Buffer> {
    for (const { bytes } of objects) yield* this.#event('ADDED', bytes);
  }

  change(change: Change): void {
    const event = this.#transition(change);
    if (event.length > 0) this.outbox.push(...event);
  }

  /** What the change is to this watcher: an event, or nothing. */
  #transition(change: Change): readonly Buffer[] {
    if (!change.key.startsWith(this.#prefix)) return [];
    const { deleted, object, previous } = change;
    const type = transition({
      before: previous !== undefined && this.selection.matches(previous),
      after: deleted || this.selection.matches(object),
      deleted,
    });
    if (type === undefined) return [];
    return this.#event(type, type === 'DELETED' && !deleted ? leaving(previous, change) : object.bytes);
  }

  bookmark(revision: number, annotations: Readonly<Record<string, string>>): void {
    const metadata = {
      resourceVersion: String(revision),
      creationTimestamp: null,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    };
    const object = { ...this.request.shownAs, metadata };
    this.#push('BOOKMARK', Buffer.from(JSON.stringify(object)));
  }

  error(error: ApiError): void {
    this.#push('ERROR', Buffer.from(JSON.stringify(error.status)));
  }

  #push(type: EventType, object: Buffer): void {
    const { frame } = this.request;
    if (frame === undefined) this.outbox.push(HEADS[type], object, TAIL);
    else this.outbox.push(frame(type, object));
  }

  #event(type: WatchEventType, bytes: Buffer): readonly Buffer[] {
    const { encode, frame } = this.request;
    if (frame !== undefined) return [frame(type, encode === undefined ? bytes : encode(bytes))];
    return encode === undefined ? [plainEvent(type, bytes)] : [HEADS[type], encode(bytes), TAIL];
  }
}

let last: { readonly type: WatchEventType; readonly bytes: Buffer; readonly event: Buffer } | undefined;

/** The event of a change is asked for by each of its watchers in turn: made for the first, handed to the others. */
function plainEvent(type: WatchEventType, bytes: Buffer): Buffer {
  if (last?.bytes !== bytes || last.type !== type) {
    last = { type, bytes, event: Buffer.concat([HEADS[type], withinLine(bytes), TAIL]) };
  }
  return last.event;
}

/** The last version that matched, at the revision of the change that made it leave, so that a resume goes on from there. */
function leaving(previous: CachedObject | undefined, { object, revision }: Change): Buffer {
  if (previous === undefined) return object.bytes;
  const last = previous.parse();
  return Buffer.from(
    JSON.stringify({ ...last, metadata: { ...last.metadata, resourceVersion: String(revision) } }),
  );
}

async function startOf({ feed }: Machinery, query: URLSearchParams): Promise<Start> {
  const revision = parseRevision(query.get('resourceVersion'));
  const initial = query.get('sendInitialEvents');
  const wantsInitial = initial !== null && isTrue(initial);
  if (initial !== null && query.get('resourceVersionMatch') !== 'NotOlderThan') {
    throw statusError(
      'BadRequest',
      'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    );
  }
  if (revision === undefined || revision > feed.revision) await feed.current();
  if (revision !== undefined && revision > feed.revision) throw tooLarge(revision, feed.revision);
  if (wantsInitial) return { after: undefined, initialEventsEnd: true };
  if (initial !== null) return { after: revision || feed.revision, initialEventsEnd: false };
  return { after: revision || undefined, initialEventsEnd: false };
}

function parseTimeout(text: string | null): number {
  const seconds = Number(text ?? '0');
  if (!Number.isFinite(seconds) || seconds < 0) {
    throw statusError('BadRequest', `timeoutSeconds: Invalid value: ${JSON.stringify(text)}`);
  }
  // Spread out, so that the watches of a restarted server do not all end together.
  const chosen = seconds > 0 ? seconds : MIN_TIMEOUT_S * (1 + Math.random());
  return Math.min(chosen, 24 * 3600) * 1000;
}
