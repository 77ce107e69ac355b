// Lists of completion indexes, as a Job's status writes them: `0-2,5`. Pure.
// Guarantees: what is taken goes up from one index to the next and stays below the number of completions.

type Range = readonly [first: number, last: number];

/** Why the list cannot be read; undefined when it can. */
export function indexesFault(text: string, completions: number): string | undefined {
  let before: number | undefined;
  for (const part of text === '' ? [] : text.split(',')) {
    const range = parseRange(part, completions);
    if (typeof range === 'string') return range;
    const [first, last] = range;
    if (before !== undefined && before >= first) return notUp(before, first);
    before = last;
  }
  return undefined;
}

/** The first index that both lists hold. What cannot be read of them is told by indexesFault. */
export function sharedIndex(one: string, other: string, completions: number): number | undefined {
  const [left, right] = [readable(one, completions), readable(other, completions)];
  for (let a = 0, b = 0; a < left.length && b < right.length; ) {
    const [from, to] = left[a] as Range;
    const [start, end] = right[b] as Range;
    if (from <= end && start <= to) return Math.max(from, start);
    if (from <= start) a++;
    else b++;
  }
  return undefined;
}

function readable(text: string, completions: number): Range[] {
  return text
    .split(',')
    .map((part) => parseRange(part, completions))
    .filter((range) => typeof range !== 'string');
}

function parseRange(part: string, completions: number): Range | string {
  const ends = part.split('-');
  if (ends.length > 2)
    return `the fragment ${JSON.stringify(part)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  for (const end of ends) {
    if (!/^\+?\d+$/.test(end)) return `cannot convert string to integer for index: ${JSON.stringify(end)}`;
    if (Number(end) >= completions) return `too large index: ${JSON.stringify(end)}`;
  }
  const [first = 0, last = first] = ends.map(Number);
  return ends.length > 1 && first >= last ? notUp(first, last) : [first, last];
}

const notUp = (before: number, now: number) => `non-increasing order, previous: ${before}, current: ${now}`;
