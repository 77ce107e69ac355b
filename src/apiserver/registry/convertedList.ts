// LIST of a kind whose versions a webhook converts.
// Guarantees: selectors judge the objects as they are shown; objects are converted a batch at a time as they are taken, so a
// long list is never in memory as a whole; a page holds its objects, and ends before they become too many bytes.
import type { KindDefinition } from '../../api/kind.js';
import type { ServerContext } from '../serverContext.js';
import type { CachedObject } from './cached.js';
import { encodeContinue } from './continueToken.js';
import { type Caller, type Conversion, conversionOf } from './conversion.js';
import { compareKeys, listPrefix } from './keys.js';
import { fromCache, listObjects, type ObjectPage, parseLimit, type Range } from './list.js';
import { PageReader } from './pageReader.js';
import { EVERYTHING, type Selection, selectionOf } from './selection.js';

const BATCH_OBJECTS = 200;
const BATCH_BYTES = 1024 * 1024;
const PAGE_BYTES = 8 * 1024 * 1024;

/** As listObjects, in the version of the kind. */
export async function listShown(
  server: ServerContext,
  kind: KindDefinition,
  { namespace, query, caller }: { namespace: string; query: URLSearchParams; caller: Caller },
): Promise<ObjectPage> {
  const conversion = conversionOf(kind);
  if (conversion === undefined) return listObjects(server, kind, namespace, query);
  const limit = parseLimit(query.get('limit'));
  const selection = selectionOf(kind, query);
  const stored = await listObjects(server, kind, namespace, withoutSelectors(query, limit));
  const work = { conversion, selection, caller };
  if (limit === 0) return { ...stored, count: undefined, reader: () => shownReader(stored, work) };
  return pageOf(stored, { ...work, limit, prefix: listPrefix(kind.type, namespace) });
}

/** All that follows; that it was asked for in pages still says of which revision. */
function withoutSelectors(query: URLSearchParams, limit: number): URLSearchParams {
  const all = new URLSearchParams(query);
  all.delete('labelSelector');
  all.delete('fieldSelector');
  if (limit > 0) all.set('limit', String(Number.MAX_SAFE_INTEGER));
  return all;
}

interface Work {
  readonly conversion: Conversion;
  readonly selection: Selection;
  readonly caller: Caller;
}

/** Those that are selected, as they are shown; `stored` is taken as far as it was read. None at the end. */
async function nextShown(stored: PageReader, { conversion, selection, caller }: Work, most = BATCH_OBJECTS) {
  for (;;) {
    const batch: CachedObject[] = [];
    let bytes = 0;
    while (batch.length < Math.min(BATCH_OBJECTS, most) && bytes < BATCH_BYTES) {
      if (stored.current === undefined) await stored.load();
      const object = stored.current;
      if (object === undefined) break;
      batch.push(object);
      bytes += object.size;
      stored.take();
    }
    if (batch.length === 0) return [];
    const shown = await conversion.shown(batch, caller);
    const wanted = shown.filter((object) => selection.matches(object));
    if (wanted.length > 0) return wanted;
  }
}

/** A client that stalls lets go of what was converted; then it is read again from where it was. */
function shownReader(page: ObjectPage, work: Work): PageReader {
  let stored = page.reader();
  let given = '';
  return new PageReader(undefined, async (after) => {
    if (after !== given) {
      stored = page.reader();
      await passOver(stored, after);
    }
    const objects = await nextShown(stored, work);
    given = objects.at(-1)?.key ?? after;
    return objects;
  });
}

/** Everything that the cache holds, as it is shown, as far as the selection wants it. */
export function shownReaderOfNow(
  server: ServerContext,
  kind: KindDefinition,
  range: Range,
  caller: Caller,
): PageReader {
  const page = fromCache(server, kind, server.feed.revision, { ...range, selection: EVERYTHING });
  const conversion = conversionOf(kind) as Conversion;
  return shownReader(page, { conversion, selection: range.selection, caller });
}

async function passOver(stored: PageReader, after: string): Promise<void> {
  while (!stored.ended) {
    if (stored.current === undefined) await stored.load();
    for (; stored.current !== undefined; stored.take())
      if (compareKeys(stored.current.key, after) > 0) return;
  }
}

async function pageOf(
  stored: ObjectPage,
  { limit, prefix, ...work }: Work & { readonly limit: number; readonly prefix: string },
): Promise<ObjectPage> {
  const { revision } = stored;
  const { items, bytes, hasMore } = await firstShown(stored.reader(), work, limit);
  const after = (items.at(-1)?.key ?? '').slice(prefix.length);
  const left = (stored.count ?? 0) - items.length;
  return {
    revision,
    continueToken: hasMore ? encodeContinue({ revision, after }) : '',
    ...(hasMore && work.selection.everything ? { remaining: left } : {}),
    bytes,
    count: items.length,
    reader: () => new PageReader(items),
  };
}

async function firstShown(stored: PageReader, work: Work, limit: number) {
  const items: CachedObject[] = [];
  let bytes = 0;
  for (;;) {
    // One more match is all there is to know.
    const most = work.selection.everything ? limit - items.length + 1 : undefined;
    const next = await nextShown(stored, work, most);
    if (next.length === 0) return { items, bytes, hasMore: false };
    for (const object of next) {
      if (items.length === limit || bytes >= PAGE_BYTES) return { items, bytes, hasMore: true };
      items.push(object);
      bytes += object.size;
    }
  }
}
