// WATCH: the state at the start if asked for, then every change to the selection, until the client or the time ends it.
// Guarantees: no change is lost, doubled or out of order between what a watcher saw last and what it sees next.
import type { KindDefinition } from '../../api/kind.js';
import { ApiError, statusError } from '../../api/status.js';
import type { Machinery } from '../machinery.js';
import { isTrue } from '../requestInfo.js';
import type { CachedObject } from './cached.js';
import { conversionOf } from './conversion.js';
import { type Changes, ConvertedChanges, plainChanges } from './convertedChanges.js';
import { shownReaderOfNow } from './convertedList.js';
import { withinLine } from './encode.js';
import { frames } from './frames.js';
import type { Change, Window } from './history.js';
import { listPrefix } from './keys.js';
import { readerOfNow } from './list.js';
import { checkWatchOptions } from './listOptions.js';
import type { PageReader } from './pageReader.js';
import { parseRevision, type Selection, selectionOf, tooLarge } from './selection.js';
import { transition, type WatchEventType } from './transition.js';
import { type WatchSource, WatchStream } from './watchStream.js';

/** How a client sees events. */
export interface EventForm {
  /** All that the bytes of an event depend on, beside its type and object: watchers of one form share them. */
  readonly name: string;
  /** An object as it is shown, without the end of the line. Undefined for objects as they are stored. */
  readonly encode?: ((object: Buffer, at: Shown) => Buffer) | undefined;
  /** As `encode`, of a bookmark; undefined for bookmarks that are sent as they are. */
  readonly encodeBookmark?: ((object: Buffer, at: Shown) => Buffer) | undefined;
  /** True when `encode` looks at what it is told. */
  readonly isVaried?: boolean;
  /** The bytes of an event, of its type and its object's JSON. */
  readonly frame: (type: EventType, object: Buffer) => Buffer;
}

export interface Shown {
  readonly timeMs: number;
  /** True for the first event of a watch. */
  readonly isFirst: boolean;
}

export interface WatchRequest {
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
export type EventType = WatchEventType | 'BOOKMARK' | 'ERROR';

const HEADS: Readonly<Record<EventType, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
  BOOKMARK: Buffer.from('{"type":"BOOKMARK","object":'),
  ERROR: Buffer.from('{"type":"ERROR","object":'),
};
const TAIL = Buffer.from('}\n');

/** An event as a line of JSON. */
export function lineFrame(type: EventType, object: Buffer): Buffer {
  return Buffer.concat([HEADS[type], withinLine(object), TAIL]);
}

interface Start {
  /** Undefined: the current state comes first, as synthetic additions. */
  readonly after: number | undefined;
  readonly initialEventsEnd: boolean;
}

export async function watchObjects(machinery: Machinery, request: WatchRequest): Promise<WatchStream> {
  const { feed } = machinery;
  const { kind, query, signal } = request;
  const selection = selectionOf(kind, query);
  const timeoutMs = parseTimeout(query.get('timeoutSeconds'));
  const start = await startOf(machinery, query);
  const bookmarks = isTrue(query.get('allowWatchBookmarks'));

  const release: (() => void)[] = [];
  const watcher = new Watcher(machinery, request, selection);
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

interface Event {
  readonly type: WatchEventType;
  /** What its bytes are made of, and known by. */
  readonly object: CachedObject;
  /** Set when the object left the selection: it is shown at the revision of that change. */
  readonly leftAt?: number;
}

/**
 * The place of one watch: in the state at the start, then in the history. No object and no event is kept here between two
 * pieces; what is sent next is looked up again.
 */
class Watcher implements WatchSource {
  readonly #machinery: Machinery;
  readonly #request: WatchRequest;
  readonly #selection: Selection;

  readonly #prefix: string;
  readonly #window: Window;
  readonly #changes: Changes;
  readonly #startMs: number;
  #beginning: PageReader | undefined;
  /** Bookmarks and errors: few and small. Written when they are sent, since the first event may look different. */
  readonly #own: (() => Buffer)[] = [];
  /** Of the change that comes next. */
  #number = 0;
  /** Where it ends, once that is known. */
  #end: { readonly number: number; readonly revision: number } | undefined;
  #isFirst = true;
  owesBookmark = false;
  /** Why what comes next cannot be shown. As in Kubernetes the watch ends there, without a word. */
  failure: ApiError | undefined;

  constructor(machinery: Machinery, request: WatchRequest, selection: Selection) {
    this.#machinery = machinery;
    this.#request = request;
    this.#selection = selection;

    this.#prefix = listPrefix(request.kind.type, request.namespace);
    this.#window = machinery.feed.cacheOf(request.kind).window;
    this.#startMs = machinery.now();
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
    const machinery = this.#machinery;
    const request = this.#request;
    const selection = this.#selection;
    const range = { prefix: this.#prefix, after: '', limit: 0, selection };
    this.#beginning =
      conversionOf(request.kind) === undefined
        ? readerOfNow(machinery, request.kind, machinery.feed.revision, range)
        : shownReaderOfNow(machinery, request.kind, range, request);
    this.#number = this.#window.end;
  }

  /** Of what has been sent up to now. */
  bookmark(annotations: Readonly<Record<string, string>>): void {
    const metadata = {
      resourceVersion: String(this.#end?.revision ?? this.#machinery.feed.revision),
      creationTimestamp: null,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    };
    const object = Buffer.from(JSON.stringify({ ...this.#request.shownAs, metadata }));
    const timeMs = this.#machinery.now();
    const { encodeBookmark, frame } = this.#request.form;
    this.#own.push(() =>
      frame('BOOKMARK', encodeBookmark?.(object, { timeMs, isFirst: this.#isFirst }) ?? object),
    );
  }

  error(error: ApiError): void {
    this.#own.push(() => this.#request.form.frame('ERROR', Buffer.from(JSON.stringify(error.status))));
  }

  /** What happens from now on is not told any more. */
  stop(): void {
    this.#end = { number: this.#window.end, revision: this.#machinery.feed.revision };
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
    if (this.#beginning !== undefined) {
      const object = this.#beginning.current;
      if (object !== undefined) return this.#frameOf({ type: 'ADDED', object }, this.#startMs);
      if (!this.#beginning.ended) return undefined;
      this.#beginning = undefined;
    }
    if (this.#own.length > 0) return this.#own[0]?.();
    const event = this.#nextEvent();
    if (event !== undefined) return this.#frameOf(event, this.#changes.at(this.#number)?.timeMs ?? 0);
    if (this.isUnloaded) return undefined;
    if (!this.owesBookmark || this.isLost) return undefined;
    this.owesBookmark = false;
    this.bookmark({});
    return this.#own[0]?.();
  }

  sent(): void {
    if (this.#beginning !== undefined) this.#beginning.take();
    else if (this.#own.length > 0) this.#own.shift();
    else this.#number += 1;
    this.#isFirst = false;
  }

  #nextEvent(): Event | undefined {
    for (; this.#number < this.#last; this.#number += 1) {
      const change = this.#changes.at(this.#number);
      if (change === undefined) return undefined;
      const event = this.#transition(change);
      if (event !== undefined) return event;
    }
    return undefined;
  }

  /** What the change is to this watcher: an event, or nothing. */
  #transition({ key, deleted, object, previous, revision }: Change): Event | undefined {
    if (!key.startsWith(this.#prefix)) return undefined;
    const type = transition({
      before: previous !== undefined && this.#selection.matches(previous),
      after: deleted || this.#selection.matches(object),
      deleted,
    });
    if (type === undefined) return undefined;
    const hasLeft = type === 'DELETED' && !deleted && previous !== undefined;
    return hasLeft ? { type, object: previous, leftAt: revision } : { type, object };
  }

  #frameOf({ type, object, leftAt }: Event, timeMs: number): Buffer {
    const { name, encode, isVaried, frame } = this.#request.form;
    const shown = { timeMs, isFirst: this.#isFirst };
    const varied = isVaried ? `${timeMs} ${this.#isFirst}` : '';
    const { bytes } = object;
    return frames.of(bytes, `${name} ${type} ${leftAt ?? ''} ${varied}`, () => {
      const json = leftAt === undefined ? bytes : leaving(object, leftAt);
      return frame(type, encode === undefined ? json : encode(json, shown));
    });
  }
}

/** The last version that matched, at the revision of the change that made it leave, so that a resume goes on from there. */
function leaving(object: CachedObject, revision: number): Buffer {
  const last = object.parse();
  return Buffer.from(
    JSON.stringify({ ...last, metadata: { ...last.metadata, resourceVersion: String(revision) } }),
  );
}

async function startOf({ feed }: Machinery, query: URLSearchParams): Promise<Start> {
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
