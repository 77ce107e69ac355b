// LIST: the objects of a selection at one revision, whole or in pages.
// Guarantees: all pages of one list are true at the same revision; a page that cannot be so is refused with 410, and a
// token by which those who accept that may go on.
import type { KindDefinition } from '../../api/kind.js';
import { ApiError, statusError } from '../../api/status.js';
import { StoreError } from '../../store/store.js';
import type { Machinery } from '../machinery.js';
import { CachedObject } from './cached.js';
import { type ContinueToken, decodeContinue, encodeContinue, NEWEST } from './continueToken.js';
import { listPrefix } from './keys.js';
import { parseRevision, type Selection, selectionOf, tooLarge } from './selection.js';

export interface ObjectPage {
  readonly items: readonly CachedObject[];
  readonly revision: number;
  /** Empty on the last page. */
  readonly continueToken: string;
  readonly remaining?: number;
}

interface Range {
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
  readonly selection: Selection;
}

export async function listObjects(
  machinery: Machinery,
  kind: KindDefinition,
  namespace: string,
  query: URLSearchParams,
): Promise<ObjectPage> {
  const { feed } = machinery;
  const prefix = listPrefix(kind.type, namespace);
  const limit = parseLimit(query.get('limit'));
  const selection = selectionOf(kind, query);
  const token = query.get('continue') ?? '';
  const revision = parseRevision(query.get('resourceVersion'));
  const match = query.get('resourceVersionMatch') ?? '';
  checkMatch(match, revision, token);
  if (token !== '') {
    return nextPage(machinery, kind, decodeContinue(token), { prefix, limit, selection });
  }
  const range = { prefix, after: '', limit, selection };
  const exact = match === 'Exact' || (match === '' && limit > 0 && (revision ?? 0) > 0);
  if (exact && revision !== undefined) return exactly(machinery, kind, revision, range);
  if (revision === undefined || revision > feed.revision) await feed.current();
  if (revision !== undefined && revision > feed.revision) throw tooLarge(revision, feed.revision);
  return fromCache(machinery, kind, feed.revision, range);
}

async function exactly(machinery: Machinery, kind: KindDefinition, revision: number, range: Range) {
  try {
    return await at(machinery, kind, revision, range);
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
  machinery: Machinery,
  kind: KindDefinition,
  from: ContinueToken,
  range: Omit<Range, 'after'>,
): Promise<ObjectPage> {
  const { prefix } = range;
  const rest = { ...range, after: prefix + from.after };
  if (from.revision === NEWEST) {
    await machinery.feed.current();
    return fromCache(machinery, kind, machinery.feed.revision, rest);
  }
  try {
    await machinery.store.list({ prefix, limit: 1, revision: from.revision });
    return await at(machinery, kind, from.revision, rest);
  } catch (cause) {
    if (isCompacted(cause)) throw expired(cause, from.after);
    throw cause;
  }
}

async function at(machinery: Machinery, kind: KindDefinition, revision: number, range: Range) {
  const { feed } = machinery;
  if (revision > feed.revision) await feed.current();
  if (revision > feed.revision) throw tooLarge(revision, feed.revision);
  // Unchanged since then: what the cache holds is what it was.
  if (feed.cacheOf(kind).lastChange <= revision) return fromCache(machinery, kind, revision, range);
  return fromStore(machinery, kind, revision, range);
}

function fromCache({ feed }: Machinery, kind: KindDefinition, revision: number, range: Range): ObjectPage {
  const { prefix, after, limit, selection } = range;
  const cache = feed.cacheOf(kind);
  const items: CachedObject[] = [];
  for (const object of cache.range(prefix, after)) {
    if (!selection.matches(object)) continue;
    // One more match is all there is to know; with a selector the number left is not told.
    if (limit > 0 && items.length === limit)
      return page(items, revision, cache.countAfter(prefix, items.at(-1)?.key ?? prefix), range);
    items.push(object);
  }
  return page(items, revision, 0, range);
}

const STORE_PAGE = 500;

async function fromStore(
  { store }: Machinery,
  kind: KindDefinition,
  revision: number,
  range: Range,
): Promise<ObjectPage> {
  const { prefix, limit, selection } = range;
  const items: CachedObject[] = [];
  let { after } = range;
  for (;;) {
    const size = limit > 0 ? Math.min(STORE_PAGE, limit - items.length) : STORE_PAGE;
    const read = await store.list({ prefix, limit: size, revision, ...(after === '' ? {} : { after }) });
    for (const { key, value, revision: changed } of read.entries) {
      after = key;
      const object = new CachedObject(kind, key, value, changed);
      if (selection.matches(object)) items.push(object);
    }
    const done = read.remaining === 0 || read.entries.length === 0;
    if (done || (limit > 0 && items.length >= limit)) {
      return page(items, revision, done ? 0 : read.remaining, range, after);
    }
  }
}

const TOO_OLD = 'The provided continue parameter is too old to display a consistent list result. ';

/** With a token for what is left, as it is now: whoever can live with a list of two states need not begin again. */
function expired(cause: unknown, after: string): ApiError {
  const message = `${TOO_OLD}You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.`;
  const { status } = statusError('Expired', message);
  const token = encodeContinue({ revision: NEWEST, after });
  return new ApiError({ ...status, metadata: { continue: token } }, { cause });
}

function page(
  items: readonly CachedObject[],
  revision: number,
  remaining: number,
  { prefix, selection }: Range,
  lastRead?: string,
): ObjectPage {
  const last = lastRead ?? items.at(-1)?.key;
  if (remaining === 0 || last === undefined) return { items, revision, continueToken: '' };
  const continueToken = encodeContinue({ revision, after: last.slice(prefix.length) });
  return { items, revision, continueToken, ...(selection.everything ? { remaining } : {}) };
}

function parseLimit(text: string | null): number {
  if (text === null || text === '') return 0;
  const limit = Number(text);
  if (!Number.isSafeInteger(limit) || limit < 0) {
    throw statusError('BadRequest', `limit: Invalid value: ${JSON.stringify(text)}`);
  }
  return limit;
}

function checkMatch(match: string, revision: number | undefined, token: string): void {
  if (match === '') return;
  const refuse = (why: string) => statusError('BadRequest', `resourceVersionMatch: Forbidden: ${why}`);
  if (match !== 'Exact' && match !== 'NotOlderThan') {
    const message = `resourceVersionMatch: Unsupported value: ${JSON.stringify(match)}: supported values: "Exact", "NotOlderThan", ""`;
    throw statusError('BadRequest', message);
  }
  if (token !== '') throw refuse('resourceVersionMatch is forbidden when continue is provided');
  if (revision === undefined) {
    throw refuse('resourceVersionMatch is forbidden unless resourceVersion is provided');
  }
  if (match === 'Exact' && revision === 0) {
    throw refuse('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}
