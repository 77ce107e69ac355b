// LIST: the objects of a selection at one revision, whole or in pages.
// Guarantees: all pages of one list are true at the same revision; a page that cannot be so is refused with 410, and a
// token by which those who accept that may go on.
import type { KindDefinition } from '../../api/kind.js';
import { ApiError, statusError } from '../../api/status.js';
import { StoreError } from '../../store/store.js';
import type { ServerContext } from '../serverContext.js';
import { CachedObject } from './cached.js';
import { type ContinueToken, decodeContinue, encodeContinue, invalidToken, NEWEST } from './continueToken.js';
import { compareKeys, listPrefix } from './keys.js';
import { checkListOptions } from './listOptions.js';
import { PageReader, type ReadOn } from './pageReader.js';
import { parseRevision, type Selection, selectionOf, tooLarge } from './selection.js';

export interface ObjectPage {
  readonly revision: number;
  /** Empty on the last page. */
  readonly continueToken: string;
  readonly remaining?: number;
  /** Of its objects together. */
  readonly bytes: number;
  /** Undefined when it is not known before they are read; nor are the bytes then. */
  readonly count: number | undefined;
  /** Reads its objects from the first on. */
  reader(): PageReader;
}

/** All at once: for those in this process that need no more than a few, or their names. */
export async function allOf(page: ObjectPage): Promise<readonly CachedObject[]> {
  return eachOf(page, (object) => object);
}

/** What is made of each; the objects themselves are let go. */
export async function eachOf<T>(page: ObjectPage, make: (object: CachedObject) => T): Promise<readonly T[]> {
  const made: T[] = [];
  for (const reader = page.reader(); !reader.ended; ) {
    for (; reader.current !== undefined; reader.take()) made.push(make(reader.current));
    await reader.load();
  }
  return made;
}

/** A page of what is nowhere else. */
export function pageOf(items: readonly CachedObject[], revision: number): ObjectPage {
  let bytes = 0;
  for (const item of items) bytes += item.size;
  return { revision, continueToken: '', bytes, count: items.length, reader: () => new PageReader(items) };
}

export interface Range {
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
  readonly selection: Selection;
}

export async function listObjects(
  server: ServerContext,
  kind: KindDefinition,
  namespace: string,
  query: URLSearchParams,
): Promise<ObjectPage> {
  const { feed } = server;
  const prefix = listPrefix(kind.type, namespace);
  const limit = parseLimit(query.get('limit'));
  const selection = selectionOf(kind, query);
  const token = query.get('continue') ?? '';
  const revision = parseRevision(query.get('resourceVersion'));
  const match = query.get('resourceVersionMatch') ?? '';
  checkListOptions(query);
  if (token !== '') {
    const from = decodeContinue(token);
    if ((revision ?? 0) > 0)
      throw statusError('BadRequest', 'specifying resource version is not allowed when using continue');
    return nextPage(server, kind, from, { prefix, limit, selection });
  }
  const range = { prefix, after: '', limit, selection };
  const exact = match === 'Exact' || (match === '' && limit > 0 && (revision ?? 0) > 0);
  if (exact && revision !== undefined) return exactly(server, kind, revision, range);
  if (revision === undefined || revision > feed.revision) await feed.current();
  if (revision !== undefined && revision > feed.revision) throw tooLarge(revision, feed.revision);
  return ofNow(server, kind, feed.revision, range);
}

async function exactly(server: ServerContext, kind: KindDefinition, revision: number, range: Range) {
  try {
    return await at(server, kind, revision, range);
  } catch (cause) {
    if (!isCompacted(cause)) throw cause;
    throw statusError('Expired', 'The resourceVersion for the provided list is too old.', undefined, {
      cause,
    });
  }
}

const isCompacted = (cause: unknown) => cause instanceof StoreError && cause.code === 'COMPACTED';

/** A token lives as long as the history does, also where nothing has changed since: clients may count on either. */
async function nextPage(
  server: ServerContext,
  kind: KindDefinition,
  from: ContinueToken,
  range: Omit<Range, 'after'>,
): Promise<ObjectPage> {
  const { prefix } = range;
  const rest = { ...range, after: prefix + from.after };
  if (from.revision === NEWEST) {
    await server.feed.current();
    return ofNow(server, kind, server.feed.revision, rest);
  }
  const { feed } = server;
  if (from.revision > feed.revision) await feed.current();
  // No page of ours was of a time to come.
  if (from.revision > feed.revision) throw invalidToken();
  try {
    await server.store.list({ prefix, limit: 1, revision: from.revision });
    return await at(server, kind, from.revision, rest);
  } catch (cause) {
    if (isCompacted(cause)) throw expired(cause, from.after);
    throw cause;
  }
}

async function at(server: ServerContext, kind: KindDefinition, revision: number, range: Range) {
  const { feed } = server;
  if (revision > feed.revision) await feed.current();
  if (revision > feed.revision) throw tooLarge(revision, feed.revision);
  // Unchanged since then: what the cache holds is what it was.
  if (feed.cacheOf(kind).lastChange <= revision) return ofNow(server, kind, revision, range);
  return fromStore(server, kind, revision, range);
}

/** Everything that the cache holds and the selection wants, read as it is taken. */
export function readerOfNow(
  server: ServerContext,
  kind: KindDefinition,
  revision: number,
  range: Range,
): PageReader {
  if (!needsSteps(kind, range)) return fromCache(server, kind, revision, range).reader();
  const last = `${range.prefix}\u{10ffff}`;
  return new PageReader(undefined, readerOn(server, kind, revision, { ...range, last }));
}

async function ofNow(server: ServerContext, kind: KindDefinition, revision: number, range: Range) {
  if (!needsSteps(kind, range)) return fromCache(server, kind, revision, range);
  const { limit } = range;
  const found = await matchingInSteps(server, kind, range, limit > 0 ? limit + 1 : undefined);
  return fromCache(server, kind, revision, range, found);
}

/** What the cache holds, as a page. */
export function fromCache(
  server: ServerContext,
  kind: KindDefinition,
  revision: number,
  range: Range,
  found: Iterable<CachedObject> = matching(server, kind, range),
): ObjectPage {
  const { prefix, limit } = range;
  const cache = server.feed.cacheOf(kind);
  const items: CachedObject[] = [];
  let bytes = 0;
  let left = 0;
  for (const object of found) {
    // One more match is all there is to know; with a selector the number left is not told.
    if (limit > 0 && items.length === limit) {
      left = Math.max(1, cache.countAfter(prefix, items.at(-1)?.key ?? prefix));
      break;
    }
    items.push(object);
    bytes += object.size;
  }
  const last = items.at(-1)?.key ?? '';
  const readOn = readerOn(server, kind, revision, { ...range, last });
  return {
    ...pageHead({ revision, left, last, range }),
    bytes,
    count: items.length,
    reader: firstReader(items, readOn),
  };
}

/** A reader that stalls lets go of its objects, so the page keeps them for the first reader alone. */
function firstReader(items: readonly CachedObject[] | undefined, readOn: ReadOn): () => PageReader {
  let held = items;
  return () => {
    const reader = new PageReader(held, readOn);
    held = undefined;
    return reader;
  };
}

function* matching({ feed }: ServerContext, kind: KindDefinition, { prefix, after, selection }: Range) {
  for (const object of feed.cacheOf(kind).range(prefix, after)) if (selection.matches(object)) yield object;
}

/** So many are looked at in one turn of the event loop: a few milliseconds. */
const LOOKED_AT_ONCE = 200;

/** What selectors look at of these is read from the store and parsed, each time: long work when there are thousands. */
const needsSteps = (kind: KindDefinition, { selection }: Range): boolean =>
  kind.isSeldomRead === true && !selection.everything;

/** The matching ones of this moment, whatever changes meanwhile: a version is what it was for whoever holds it. */
async function matchingInSteps(
  { feed }: ServerContext,
  kind: KindDefinition,
  { prefix, after, selection }: Range,
  most = Number.POSITIVE_INFINITY,
): Promise<CachedObject[]> {
  const found: CachedObject[] = [];
  for (const [index, object] of [...feed.cacheOf(kind).range(prefix, after)].entries()) {
    if (index > 0 && index % LOOKED_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
    if (selection.matches(object)) found.push(object);
    if (found.length === most) break;
  }
  return found;
}

/** Reads objects up to `last` as they were at the revision: from the cache when nothing has changed since. */
function readerOn(
  server: ServerContext,
  kind: KindDefinition,
  revision: number,
  page: Range & { readonly last: string },
): ReadOn {
  const { last } = page;
  return async (behind) => {
    const after = behind === '' ? page.after : behind;
    if (compareKeys(after, last) >= 0) return [];
    const range = { ...page, after };
    if (server.feed.cacheOf(kind).lastChange > revision) {
      for await (const { objects, after: read } of storeBatches(server, kind, revision, range)) {
        const wanted = objects.filter(({ key }) => compareKeys(key, last) <= 0);
        if (wanted.length > 0 || compareKeys(read, last) >= 0) return wanted;
      }
      return [];
    }
    const objects: CachedObject[] = [];
    const found = needsSteps(kind, range)
      ? await matchingInSteps(server, kind, range)
      : matching(server, kind, range);
    for (const object of found) {
      if (compareKeys(object.key, last) > 0) break;
      objects.push(object);
    }
    return objects;
  };
}

/** The number of objects asked of the store at once is for so many bytes. */
const BATCH_BYTES = 1024 * 1024;
const FIRST_BATCH = 16;
const MOST_IN_BATCH = 500;
/** A page that is no larger is read once; of another the second reading is what is sent. */
const KEPT_BYTES = 256 * 1024;

/** What the selection matches, as it was at the revision, and how many keys lie behind what was read. */
async function* storeBatches({ store }: ServerContext, kind: KindDefinition, revision: number, range: Range) {
  const { prefix, selection } = range;
  let { after } = range;
  let limit = FIRST_BATCH;
  for (;;) {
    const { entries, remaining } = await store.list({
      prefix,
      limit,
      revision,
      ...(after === '' ? {} : { after }),
    });
    let bytes = 0;
    const objects: CachedObject[] = [];
    for (const { key, value, revision: changed } of entries) {
      bytes += value.length;
      after = key;
      const object = new CachedObject(kind, key, value, changed);
      if (selection.matches(object)) objects.push(object);
    }
    yield { objects, after, remaining };
    if (remaining === 0 || entries.length === 0) return;
    const fitting = Math.floor((BATCH_BYTES * entries.length) / (bytes + 1));
    limit = Math.max(1, Math.min(MOST_IN_BATCH, fitting));
  }
}

async function fromStore(
  server: ServerContext,
  kind: KindDefinition,
  revision: number,
  range: Range,
): Promise<ObjectPage> {
  let kept: CachedObject[] | undefined = [];
  const seen = { count: 0, bytes: 0, last: '', left: 0 };
  for await (const { objects, after, remaining } of storeBatches(server, kind, revision, range)) {
    const room = range.limit > 0 ? range.limit - seen.count : objects.length;
    const taken = objects.slice(0, room);
    const isFull = range.limit > 0 && taken.length === room;
    seen.count += taken.length;
    for (const { size } of taken) seen.bytes += size;
    if (seen.bytes <= KEPT_BYTES) kept?.push(...taken);
    else kept = undefined;
    seen.last = isFull ? (taken.at(-1)?.key ?? after) : after;
    seen.left = remaining + objects.length - taken.length;
    if (isFull) break;
  }
  const { last, left, bytes, count } = seen;
  const readOn = readerOn(server, kind, revision, { ...range, last });
  return { ...pageHead({ revision, left, last, range }), bytes, count, reader: firstReader(kept, readOn) };
}

const TOO_OLD = 'The provided continue parameter is too old to display a consistent list result. ';

/** With a token for what is left, as it is now: whoever can live with a list of two states need not begin again. */
function expired(cause: unknown, after: string): ApiError {
  const message = `${TOO_OLD}You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.`;
  const { status } = statusError('Expired', message);
  const token = encodeContinue({ revision: NEWEST, after });
  return new ApiError({ ...status, metadata: { continue: token } }, { cause });
}

function pageHead(page: {
  readonly revision: number;
  readonly left: number;
  readonly last: string;
  readonly range: Range;
}): Pick<ObjectPage, 'revision' | 'continueToken' | 'remaining'> {
  const { revision, left, last, range } = page;
  if (left === 0 || last === '') return { revision, continueToken: '' };
  const continueToken = encodeContinue({ revision, after: last.slice(range.prefix.length) });
  return { revision, continueToken, ...(range.selection.everything ? { remaining: left } : {}) };
}

export function parseLimit(text: string | null): number {
  if (text === null || text === '') return 0;
  const limit = Number(text);
  if (!Number.isSafeInteger(limit) || limit < 0) {
    const shown = JSON.stringify(text);
    if (limit < 0) throw statusError('BadRequest', `limit: Invalid value: ${shown}`);
    const why = /^\d+$/.test(text) ? 'value out of range' : 'invalid syntax';
    throw statusError('BadRequest', `strconv.ParseInt: parsing ${shown}: ${why}`);
  }
  return limit;
}
