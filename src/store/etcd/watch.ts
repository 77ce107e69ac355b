// One watch on etcd, kept up over broken connections.
// Guarantees: each change once and in order, whichever member tells it; ended once, with the reason.
import { StoreError, type StoreEvent, type WatchOptions } from '../store.js';
import type { Connection, WatchStream } from './connection.js';
import { EVERYTHING, type Keyspace } from './keyspace.js';
import type { WatchEvent, WatchResponse } from './messages.js';

const RETRY_MS = 200;
/** Under many writes etcd 3.4 now and then leaves out what a key held before, though it is kept: asked again, it tells. */
const MISSING_TRIES = 5;

export class EtcdWatch {
  readonly #connection: Connection;
  readonly #keys: Keyspace;
  readonly #options: WatchOptions;
  readonly #onEnd: () => void;

  #stream: WatchStream | undefined;
  #retry: NodeJS.Timeout | undefined;
  #ended = false;
  /** Everything up to this revision has been told. */
  #reached: number;
  /** Events of an answer that comes in several messages. */
  #pieces: WatchEvent[] = [];
  /** Answers in a row that left out what a key held before. */
  #incomplete = 0;

  constructor(connection: Connection, keys: Keyspace, options: WatchOptions, onEnd: () => void) {
    this.#connection = connection;
    this.#keys = keys;
    this.#options = options;
    this.#onEnd = onEnd;

    this.#reached = options.after;
  }

  open(): void {
    if (this.#ended) return;
    const { stream, leave } = this.#connection.watch();
    this.#stream = stream;
    this.#pieces = [];
    stream.on('data', (response: WatchResponse) => {
      if (this.#stream === stream) this.#take(response);
    });
    const broken = () => {
      if (this.#stream !== stream || this.#ended) return;
      leave();
      this.#openAgain();
    };
    stream.on('error', broken);
    stream.on('end', broken);
    // Whoever wants to know how far the watch is sees every change of etcd, also those of other keys: what etcd says of
    // progress itself may overtake events (before 3.4.25 and 3.5.8).
    const range =
      this.#options.onProgress === undefined ? this.#keys.range(this.#options.prefix) : EVERYTHING;
    const startRevision = this.#reached + 1;
    stream.write({
      createRequest: { ...range, startRevision, progressNotify: false, prevKv: true, fragment: true },
    });
  }

  /** From what was told last. */
  #openAgain(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.cancel();
    this.#retry = setTimeout(() => this.open(), RETRY_MS);
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#retry);
    this.#stream?.cancel();
    this.#stream = undefined;
    this.#onEnd();
  }

  end(error: Error): void {
    if (this.#ended) return;
    this.close();
    try {
      this.#options.onError(error);
    } catch {
      // It was told; what it does with that is not ours to mend.
    }
  }

  #take(response: WatchResponse): void {
    const refusal = this.#refusal(response);
    if (refusal !== undefined) {
      this.end(refusal);
      return;
    }
    this.#pieces.push(...response.events);
    if (response.fragment || this.#pieces.length === 0) return;
    const events = this.#pieces;
    this.#pieces = [];
    if (events.some(isIncomplete) && this.#incomplete++ < MISSING_TRIES) {
      this.#openAgain();
      return;
    }
    this.#incomplete = 0;
    try {
      this.#deliver(events);
    } catch (error) {
      this.end(error as Error);
    }
  }

  #refusal({ canceled, compactRevision, cancelReason }: WatchResponse): StoreError | undefined {
    if (compactRevision > 0) {
      const why = `revision ${this.#reached} is no longer kept; history starts at ${compactRevision}`;
      return new StoreError('COMPACTED', why);
    }
    if (!canceled) return undefined;
    return new StoreError('UNAVAILABLE', `etcd ended the watch: ${cancelReason}`);
  }

  #deliver(events: readonly WatchEvent[]): void {
    const wanted: StoreEvent[] = [];
    for (const event of events) {
      const key = this.#keys.fromEtcd(event.kv.key);
      if (event.kv.modRevision <= this.#reached || !key?.startsWith(this.#options.prefix)) continue;
      wanted.push(storeEvent(key, event));
    }
    this.#reached = Math.max(this.#reached, events.at(-1)?.kv.modRevision ?? 0);
    if (wanted.length > 0) this.#options.onEvents(wanted);
    if (!this.#ended) this.#options.onProgress?.(this.#reached);
  }
}

/** It tells of a change without what was there before. */
const isIncomplete = ({ type, kv, prevKv }: WatchEvent) =>
  prevKv === null && !(type === 'PUT' && kv.createRevision === kv.modRevision);

function storeEvent(key: string, event: WatchEvent): StoreEvent {
  const { type, kv, prevKv } = event;
  if (isIncomplete(event)) {
    // A compaction overtook the watch and took the value before with it.
    throw new StoreError('COMPACTED', `what ${key} held before revision ${kv.modRevision} is no longer kept`);
  }
  const previous = prevKv === null ? undefined : { key, value: prevKv.value, revision: prevKv.modRevision };
  return {
    type: type === 'PUT' ? 'put' : 'delete',
    key,
    revision: kv.modRevision,
    value: type === 'PUT' ? kv.value : (previous?.value ?? kv.value),
    ...(previous === undefined ? {} : { previous }),
  };
}
