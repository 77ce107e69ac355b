// WATCH: the state at the start if asked for, then every change to the selection, until the client or the time ends it.
// Guarantees: no change is lost, doubled or out of order between what a watcher saw last and what it sees next.
import type { KindDefinition } from '../../api/kind.js';
import { ApiError, statusError } from '../../api/status.js';
import { isTrue } from '../requestInfo.js';
import type { ServerContext } from '../serverContext.js';
import { conversionOf } from './conversion.js';
import { type Changes, ConvertedChanges, plainChanges } from './convertedChanges.js';
import { shownReaderOfNow } from './convertedList.js';
import type { EventForm, OwnEvent, ShownEvent } from './eventForm.js';
import { frameOfEvent, frameOfOwn, objectOfEvent } from './eventForm.js';
import type { Change, Window } from './history.js';
import { listPrefix } from './keys.js';
import { readerOfNow } from './list.js';
import { checkWatchOptions } from './listOptions.js';
import type { PageReader } from './pageReader.js';
import { parseRevision, type Selection, selectionOf, tooLarge } from './selection.js';
import { transition } from './transition.js';
import { type WatchedEvent, type WatchSource, WatchStream } from './watchStream.js';

interface WatchRequest {
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly query: URLSearchParams;
  readonly form: EventForm;
  /** What the client takes the objects for: bookmarks must look like them. */
  readonly shownAs: { readonly kind: string; readonly apiVersion: string };
  readonly signal: AbortSignal;
  /** Of whoever watches. */
  readonly user: string;
}

const BOOKMARK_MS = 60_000;
const MIN_TIMEOUT_S = 1800;
interface Start {
  /** Undefined: the current state comes first, as synthetic additions. */
  readonly after: number | undefined;
  readonly initialEventsEnd: boolean;
}

export async function watchObjects(server: ServerContext, request: WatchRequest): Promise<WatchStream> {
  const { feed } = server;
  const { kind, query, signal } = request;
  const selection = selectionOf(kind, query);
  const timeoutMs = parseTimeout(query.get('timeoutSeconds'));
  const start = await startOf(server, query);
  const bookmarks = isTrue(query.get('allowWatchBookmarks'));

  const release: (() => void)[] = [];
  const watcher = new Watcher(server, request, selection);
  const stream = new WatchStream(watcher, () => {
    for (const give of release) give();
  });

  // From here to listen() nothing may wait: a change in between would be lost.
  try {
    watcher.begin(start);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    watcher.error(error);
    stream.end();
    return stream;
  }
  if (start.initialEventsEnd && bookmarks) watcher.bookmark({ 'k8s.io/initial-events-end': 'true' });
  release.push(
    feed.cacheOf(kind).listen({
      // A reader that is busy comes to the change by itself.
      onChange: () => {
        if (stream.isIdle && (watcher.hasNext() || watcher.isLost)) stream.wake();
      },
      onReset: () => stream.end(),
    }),
  );
  const bookmark = () => {
    if (!bookmarks) return;
    watcher.owesBookmark = true;
    stream.wake();
  };
  const ticking = setInterval(bookmark, BOOKMARK_MS);
  const ending = setTimeout(() => {
    bookmark();
    watcher.stop();
    stream.end();
  }, timeoutMs);
  const abort = () => stream.cut();
  signal.addEventListener('abort', abort, { once: true });
  release.push(
    () => clearInterval(ticking),
    () => clearTimeout(ending),
    () => signal.removeEventListener('abort', abort),
  );
  if (signal.aborted) stream.cut();
  await watcher.loadFirst();
  if (watcher.failure === undefined) return stream;
  stream.cut();
  throw watcher.failure;
}

/**
 * The place of one watch: in the state at the start, then in the history. No object and no event is kept here between two
 * pieces; what is sent next is looked up again.
 */
class Watcher implements WatchSource {
  readonly #server: ServerContext;
  readonly #request: WatchRequest;
  readonly #selection: Selection;

  readonly #prefix: string;
  readonly #window: Window;
  readonly #changes: Changes;
  readonly #startMs: number;
  #beginning: PageReader | undefined;
  /** Bookmarks and errors: few and small. Written when they are sent, since the first event may look different. */
  readonly #own: OwnEvent[] = [];
  /** Of the change that comes next. */
  #number = 0;
  /** Where it ends, once that is known. */
  #end: { readonly number: number; readonly revision: number } | undefined;
  #isFirst = true;
  owesBookmark = false;
  /** Why what comes next cannot be shown. As in Kubernetes the watch ends there, without a word. */
  failure: ApiError | undefined;

  constructor(server: ServerContext, request: WatchRequest, selection: Selection) {
    this.#server = server;
    this.#request = request;
    this.#selection = selection;

    this.#prefix = listPrefix(request.kind.type, request.namespace);
    this.#window = server.feed.cacheOf(request.kind).window;
    this.#startMs = server.now();
    const conversion = conversionOf(request.kind);
    const watch = { window: this.#window, prefix: this.#prefix, needsPrevious: !selection.everything };
    this.#changes =
      conversion === undefined
        ? plainChanges(this.#window)
        : new ConvertedChanges({ ...watch, conversion, caller: request });
  }

  begin({ after }: Start): void {
    if (after !== undefined) {
      this.#number = this.#window.numberAfter(after);
      return;
    }
    const server = this.#server;
    const request = this.#request;
    const selection = this.#selection;
    const range = { prefix: this.#prefix, after: '', limit: 0, selection };
    this.#beginning =
      conversionOf(request.kind) === undefined
        ? readerOfNow(server, request.kind, server.feed.revision, range)
        : shownReaderOfNow(server, request.kind, range, request);
    this.#number = this.#window.end;
  }

  /** Of what has been sent up to now. */
  bookmark(annotations: Readonly<Record<string, string>>): void {
    const metadata = {
      resourceVersion: String(this.#end?.revision ?? this.#server.feed.revision),
      creationTimestamp: null,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    };
    this.#own.push({ type: 'BOOKMARK', value: { ...this.#request.shownAs, metadata } });
  }

  error(error: ApiError): void {
    this.#own.push({ type: 'ERROR', value: error.status });
  }

  /** What happens from now on is not told any more. */
  stop(): void {
    this.#end = { number: this.#window.end, revision: this.#server.feed.revision };
  }

  get isUnloaded(): boolean {
    if (this.#beginning !== undefined && !this.#beginning.ended) return this.#beginning.current === undefined;
    return this.#number < this.#last && this.#changes.isUnloaded(this.#number);
  }

  get isLost(): boolean {
    return this.failure !== undefined || this.#window.isLost(this.#number);
  }

  async load(): Promise<void> {
    try {
      if (this.#beginning === undefined || this.#beginning.ended) await this.#changes.load(this.#number);
      else await this.#beginning.load();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.failure = error;
    }
  }

  /** What has to be converted for the first of the state at the start: who cannot be shown it is refused. */
  async loadFirst(): Promise<void> {
    if (conversionOf(this.#request.kind) !== undefined && this.isUnloaded) await this.load();
  }

  get #last(): number {
    return this.#end?.number ?? Number.POSITIVE_INFINITY;
  }

  pause(): void {
    this.#beginning?.pause();
  }

  resume(): void {
    this.#beginning?.resume();
  }

  /** True when a change is to be told; those that are of no interest are passed over. */
  hasNext(): boolean {
    return this.#nextEvent() !== undefined || this.isUnloaded;
  }

  frame(): Buffer | undefined {
    const next = this.#next();
    if (next === undefined) return undefined;
    const { form } = this.#request;
    const isFirst = this.#isFirst;
    return 'value' in next
      ? frameOfOwn(form, next, { timeMs: this.#server.now(), isFirst })
      : frameOfEvent(form, next, { timeMs: next.timeMs, isFirst });
  }

  event(): WatchedEvent | undefined {
    const next = this.#next();
    if (next === undefined) return undefined;
    if ('value' in next) return { type: next.type, object: next.value };
    return objectOfEvent(this.#request.form, next);
  }

  /** What is to be sent next. */
  #next(): ShownEvent | OwnEvent | undefined {
    if (this.#beginning !== undefined) {
      const object = this.#beginning.current;
      if (object !== undefined) return { type: 'ADDED', object, timeMs: this.#startMs };
      if (!this.#beginning.ended) return undefined;
      this.#beginning = undefined;
    }
    if (this.#own.length > 0) return this.#own[0];
    const event = this.#nextEvent();
    if (event !== undefined) return event;
    if (this.isUnloaded || !this.owesBookmark || this.isLost) return undefined;
    this.owesBookmark = false;
    this.bookmark({});
    return this.#own[0];
  }

  sent(): void {
    if (this.#beginning !== undefined) this.#beginning.take();
    else if (this.#own.length > 0) this.#own.shift();
    else this.#number += 1;
    this.#isFirst = false;
  }

  #nextEvent(): ShownEvent | undefined {
    for (; this.#number < this.#last; this.#number += 1) {
      const change = this.#changes.at(this.#number);
      if (change === undefined) return undefined;
      const event = this.#transition(change);
      if (event !== undefined) return event;
    }
    return undefined;
  }

  /** What the change is to this watcher: an event, or nothing. */
  #transition({ key, deleted, object, previous, revision, timeMs }: Change): ShownEvent | undefined {
    if (!key.startsWith(this.#prefix)) return undefined;
    const type = transition({
      before: previous !== undefined && this.#selection.matches(previous),
      after: deleted || this.#selection.matches(object),
      deleted,
    });
    if (type === undefined) return undefined;
    const hasLeft = type === 'DELETED' && !deleted && previous !== undefined;
    return hasLeft ? { type, object: previous, timeMs, leftAt: revision } : { type, object, timeMs };
  }
}

async function startOf({ feed }: ServerContext, query: URLSearchParams): Promise<Start> {
  checkWatchOptions(query);
  const revision = parseRevision(query.get('resourceVersion'));
  const initial = query.get('sendInitialEvents');
  const wantsInitial = initial !== null && isTrue(initial);
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
