// Lists: a range of keys as it is now, or as it was at an older revision.
// Guarantees: a page and its count are of one moment; an older state is today's with the later changes undone.
import type { Entry, ListOptions, ListResult } from '../store.js';
import { type LoggedChange, type Range, rangeOf, type Snapshot } from './snapshot.js';

export function listNow(snapshot: Snapshot, { prefix, after, limit }: ListOptions): ListResult {
  const range = rangeOf(prefix, after);
  const entries = take(snapshot.entries(range), limit);
  const last = entries.at(-1);
  const isWhole = limit === undefined || limit <= 0 || entries.length < limit || last === undefined;
  const remaining = isWhole ? 0 : snapshot.count(rangeOf(prefix, last.key));
  return { entries, revision: snapshot.newest(), remaining };
}

export function listThen(snapshot: Snapshot, options: ListOptions, revision: number): ListResult {
  const { prefix, after, limit } = options;
  const range = rangeOf(prefix, after);
  const then = snapshot.firstChanges(revision, prefix);
  const entries = take(merged(snapshot, range, then), limit);
  const last = entries.at(-1);
  const isWhole = limit === undefined || limit <= 0 || entries.length < limit || last === undefined;
  const remaining = isWhole ? 0 : countThen(snapshot, rangeOf(prefix, last.key), then);
  return { entries, revision, remaining };
}

/** The range of today with every changed key replaced by what it held then, in the order of keys. */
function* merged(
  snapshot: Snapshot,
  range: Range,
  then: ReadonlyMap<string, LoggedChange>,
): Generator<Entry> {
  // Values are read as they are yielded: a page does not need those of all that changed.
  const old = [...then.values()]
    .filter(({ previous }) => previous !== 0)
    .map((change) => ({ change, bytes: Buffer.from(change.key, 'utf8') }))
    .filter(({ bytes }) => isWithin(bytes, range))
    .sort((one, other) => Buffer.compare(one.bytes, other.bytes));
  let next = 0;
  for (const entry of snapshot.entries(range)) {
    if (then.has(entry.key)) continue;
    const bytes = Buffer.from(entry.key, 'utf8');
    for (
      let older = old[next];
      older !== undefined && Buffer.compare(older.bytes, bytes) < 0;
      older = old[++next]
    ) {
      yield* replacedBy(snapshot, older.change);
    }
    yield entry;
  }
  for (const { change } of old.slice(next)) yield* replacedBy(snapshot, change);
}

function* replacedBy(snapshot: Snapshot, change: LoggedChange): Generator<Entry> {
  const entry = snapshot.replaced(change);
  if (entry !== undefined) yield entry;
}

function countThen(snapshot: Snapshot, range: Range, then: ReadonlyMap<string, LoggedChange>): number {
  let count = snapshot.count(range);
  for (const [key, { previous }] of then) {
    if (!isWithin(Buffer.from(key, 'utf8'), range)) continue;
    if (snapshot.get(key) !== undefined) count -= 1;
    if (previous !== 0) count += 1;
  }
  return count;
}

function isWithin(key: Buffer, { start, end }: Range): boolean {
  const isFrom = start === undefined || Buffer.compare(key, start) >= 0;
  return isFrom && (end === undefined || Buffer.compare(key, end) < 0);
}

function take(entries: Iterable<Entry>, limit: number | undefined): Entry[] {
  if (limit === undefined || limit <= 0) return [...entries];
  const taken: Entry[] = [];
  for (const entry of entries) if (taken.push(entry) >= limit) break;
  return taken;
}
