// Lists: a range of keys as it is now, or as it was at an older revision.
// Guarantees: a page and its count are of one moment; an older state is today's with the later changes undone.
import type { Entry, ListOptions, ListResult } from '../store.js';
import type { ChangedKey, EarlierState } from './earlierState.js';
import { type Range, rangeOf, type Snapshot } from './snapshot.js';

/** A pause is offered after so many keys. */
const PIECE = 64;

export function listNow(snapshot: Snapshot, { prefix, after, limit }: ListOptions): ListResult {
  const range = rangeOf(prefix, after);
  const entries = take(snapshot.entries(range), limit);
  const last = entries.at(-1);
  const isWhole = limit === undefined || limit <= 0 || entries.length < limit || last === undefined;
  const remaining = isWhole ? 0 : snapshot.count(rangeOf(prefix, last.key));
  return { entries, revision: snapshot.newest(), remaining };
}

/** Yields where a pause is good: the log may be long, and so may the keys that did not exist then. */
export function* listThen(
  snapshot: Snapshot,
  past: EarlierState,
  { after, limit }: Pick<ListOptions, 'after' | 'limit'>,
): Generator<void, ListResult> {
  const { prefix, revision } = past;
  yield* past.readOn(snapshot);
  const entries: Entry[] = [];
  const isFull = () => limit !== undefined && limit > 0 && entries.length >= limit;
  let steps = 0;
  for (const entry of merged(snapshot, rangeOf(prefix, after), past)) {
    if (++steps % PIECE === 0) yield;
    if (entry === undefined) continue;
    entries.push(entry);
    if (isFull()) break;
  }
  const last = entries.at(-1);
  const remaining =
    last === undefined || !isFull() ? 0 : countThen(snapshot, rangeOf(prefix, last.key), past);
  return { entries, revision, remaining };
}

/** The range of today with every changed key replaced by what it held then, undefined for nothing, in the order of keys. */
function* merged(snapshot: Snapshot, range: Range, past: EarlierState): Generator<Entry | undefined> {
  const changed = past.within(range);
  let next = 0;
  // Values are read as they are yielded: a page does not need those of all that changed.
  for (const entry of snapshot.entries(range)) {
    const bytes = Buffer.from(entry.key, 'utf8');
    for (
      let older = changed[next];
      older !== undefined && Buffer.compare(older.bytes, bytes) <= 0;
      older = changed[++next]
    ) {
      yield snapshot.replaced(older.first);
    }
    if (!past.has(entry.key)) yield entry;
  }
  for (; next < changed.length; next += 1) yield snapshot.replaced((changed[next] as ChangedKey).first);
}

function countThen(snapshot: Snapshot, range: Range, past: EarlierState): number {
  let count = snapshot.count(range);
  for (const { first, isThere } of past.within(range)) {
    if (isThere) count -= 1;
    if (first.previous !== 0) count += 1;
  }
  return count;
}

function take(entries: Iterable<Entry>, limit: number | undefined): Entry[] {
  if (limit === undefined || limit <= 0) return [...entries];
  const taken: Entry[] = [];
  for (const entry of entries) if (taken.push(entry) >= limit) break;
  return taken;
}
