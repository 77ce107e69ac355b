// The revisioned key-value store beneath the apiserver: the interface that every store implements.
// Guarantees: one monotonic sequence of revisions over all keys, as in etcd; a write is answered once it is durable.

export interface Entry {
  readonly key: string;
  readonly value: Buffer;
  /** Revision of the write that made this value. */
  readonly revision: number;
}

export interface ListOptions {
  readonly prefix: string;
  readonly limit?: number;
  /** Start after this key: the last key of the page before. */
  readonly after?: string;
  /** Read the keys as they were at this revision; COMPACTED when it is no longer kept. */
  readonly revision?: number;
}

export interface ListResult {
  readonly entries: readonly Entry[];
  /** The revision that the whole list is true at. */
  readonly revision: number;
  /** How many keys of the prefix lie beyond this page. */
  readonly remaining: number;
}

export interface StoreEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  /** The revision of this change. */
  readonly revision: number;
  /** The new value; for a delete the last value. */
  readonly value: Buffer;
  /** What the key held before, absent when the change created it. */
  readonly previous?: Entry;
}

export interface WatchOptions {
  readonly prefix: string;
  /** Changes after this revision are delivered, the first being at least `after + 1`. */
  readonly after: number;
  /** Called in order of revision, never twice for one change. All changes of one revision come in one call. */
  onEvents(events: readonly StoreEvent[]): void;
  /**
   * Called when every change up to this revision has been delivered, also when the last of them is of no interest to
   * this watch.
   */
  onProgress?(revision: number): void;
  /** Called once when the watch cannot go on (COMPACTED, CLOSED, UNAVAILABLE); nothing follows. */
  onError(error: Error): void;
}

/** One write of a transaction: as `create`, `update` and `delete` of the store. */
export type Write =
  | { readonly verb: 'create'; readonly key: string; readonly value: Uint8Array }
  | {
      readonly verb: 'update';
      readonly key: string;
      readonly value: Uint8Array;
      readonly expected: number;
    }
  | { readonly verb: 'delete'; readonly key: string; readonly expected: number };

/** In a transaction: the key holds the value written at `expected`, or nothing is written. Changes nothing itself. */
export interface Check {
  readonly verb: 'check';
  readonly key: string;
  readonly expected: number;
}

export interface Store {
  /** Newest revision that has been committed, at once where the store knows it. 0 for an empty store. */
  revision(): Promise<number> | number;
  get(key: string): Promise<Entry | undefined>;
  /**
   * Without a wait, the value written at a revision that watchers have been told of no change of since. Only where reading
   * is as quick as that; whoever keeps a value itself must do so where it is missing.
   */
  valueAt?(key: string, revision: number): Uint8Array;
  list(options: ListOptions): Promise<ListResult>;
  /** Answers the new revision. EXISTS when the key is there. */
  create(key: string, value: Uint8Array): Promise<number>;
  /** Replaces the value written at `expected`. CONFLICT when another write came between, MISSING when the key is gone. */
  update(key: string, value: Uint8Array, expected: number): Promise<number>;
  /** Removes the value written at `expected`; answers the revision of the removal. CONFLICT, MISSING as in update. */
  delete(key: string, expected: number): Promise<number>;
  /**
   * All of these writes or, when one or a check is refused, none: the error has the key of the refused one. A key may be
   * named once. Answers the revision of each write, not of checks; they may be one and the same.
   */
  transact(writes: readonly (Write | Check)[]): Promise<readonly number[]>;
  /** Throws COMPACTED when `after` is older than the history kept, FUTURE when it is newer than the newest. */
  watch(options: WatchOptions): Promise<{ close(): void }>;
  /** Forgets history up to and including this revision; current values stay. */
  compact(revision: number): Promise<void>;
  close(): Promise<void>;
}

export type StoreErrorCode =
  | 'EXISTS'
  | 'MISSING'
  | 'CONFLICT'
  | 'COMPACTED'
  | 'FUTURE'
  | 'LOCKED'
  | 'NEWER_SCHEMA'
  | 'DAMAGED'
  | 'TOO_LARGE'
  | 'NOT_EMPTY'
  | 'UNAVAILABLE'
  | 'CLOSED';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  /** Of the write that was refused: EXISTS, MISSING, CONFLICT. */
  readonly key: string | undefined;
  constructor(
    readonly code: StoreErrorCode,
    message: string,
    options?: ErrorOptions & { readonly key?: string },
  ) {
    super(message, options);
    this.key = options?.key;
  }
}

/** True when the write was surely not made; after any other failure it may have been: only its answer was lost. */
export function isRefused(error: unknown): boolean {
  return error instanceof StoreError && REFUSALS.has(error.code);
}

const REFUSALS: ReadonlySet<StoreErrorCode> = new Set(['EXISTS', 'CONFLICT', 'MISSING', 'TOO_LARGE']);

export function existsAlready(key: string): StoreError {
  return new StoreError('EXISTS', `key ${key} exists already`, { key });
}

/** Why a write that expected a revision is refused; `held` is 0 for a key that is not there. */
export function notAsExpected(key: string, held: number, expected: number): StoreError {
  if (held === 0) return new StoreError('MISSING', `key ${key} does not exist`, { key });
  return new StoreError('CONFLICT', `key ${key} is at revision ${held}, not ${expected}`, { key });
}
