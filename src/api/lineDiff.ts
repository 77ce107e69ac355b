// The unified diff of two texts, line by line, three lines of context around each change. Pure.
// Guarantees: the fewest changed lines; bounded work: texts that differ in more than MAX_EDITS lines have no diff here.

const CONTEXT = 3;
const MAX_EDITS = 200;

interface Edit {
  /** ' ' is in both. */
  readonly mark: ' ' | '-' | '+';
  readonly line: string;
}

/** Undefined where they differ in too much; empty where they do not. */
export function lineDiff(before: readonly string[], after: readonly string[]): string | undefined {
  const edits = editsOf(before, after);
  return edits === undefined ? undefined : hunksOf(edits).join('');
}

/** Myers' shortest edit script: the furthest point reached on every diagonal, one edit more at a time. */
function editsOf(before: readonly string[], after: readonly string[]): readonly Edit[] | undefined {
  const reached = new Map<number, number>([[1, 0]]);
  const steps: ReadonlyMap<number, number>[] = [];
  for (let count = 0; count <= MAX_EDITS; count++) {
    steps.push(new Map(reached));
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      let at = comesDown(reached, diagonal, count)
        ? (reached.get(diagonal + 1) ?? 0)
        : (reached.get(diagonal - 1) ?? 0) + 1;
      while (at < before.length && at - diagonal < after.length && before[at] === after[at - diagonal]) at++;
      reached.set(diagonal, at);
      if (at >= before.length && at - diagonal >= after.length) return wayBack(steps, before, after);
    }
  }
  return undefined;
}

/** A line is added here, rather than one left out. */
const comesDown = (reached: ReadonlyMap<number, number>, diagonal: number, count: number): boolean =>
  diagonal === -count ||
  (diagonal !== count && (reached.get(diagonal - 1) ?? -1) < (reached.get(diagonal + 1) ?? -1));

function wayBack(
  steps: readonly ReadonlyMap<number, number>[],
  before: readonly string[],
  after: readonly string[],
): readonly Edit[] {
  const edits: Edit[] = [];
  let [at, other] = [before.length, after.length];
  for (let count = steps.length - 1; count >= 0; count--) {
    const reached = steps[count] as ReadonlyMap<number, number>;
    const diagonal = at - other;
    const from = comesDown(reached, diagonal, count) ? diagonal + 1 : diagonal - 1;
    const [start, otherStart] = [reached.get(from) ?? 0, (reached.get(from) ?? 0) - from];
    while (at > start && other > otherStart) {
      edits.push({ mark: ' ', line: before[--at] as string });
      other--;
    }
    if (count === 0) break;
    if (other > otherStart) edits.push({ mark: '+', line: after[--other] as string });
    else edits.push({ mark: '-', line: before[--at] as string });
  }
  return edits.reverse();
}

function hunksOf(edits: readonly Edit[]): string[] {
  const changes = edits.flatMap(({ mark }, index) => (mark === ' ' ? [] : [index]));
  const hunks: { first: number; last: number }[] = [];
  for (const index of changes) {
    const open = hunks.at(-1);
    if (open !== undefined && index - open.last <= 2 * CONTEXT + 1) open.last = index;
    else hunks.push({ first: index, last: index });
  }
  return hunks.map(({ first, last }) => hunkText(edits, Math.max(0, first - CONTEXT), last + CONTEXT + 1));
}

function hunkText(edits: readonly Edit[], from: number, to: number): string {
  const inside = edits.slice(from, to);
  const count = (list: readonly Edit[], other: '-' | '+') => list.filter(({ mark }) => mark !== other).length;
  const ahead = edits.slice(0, from);
  const range = (other: '-' | '+') => rangeText(count(ahead, other), count(inside, other));
  const lines = removalsFirst(inside).map(({ mark, line }) => `${mark}${line}\n`);
  return `@@ -${range('+')} +${range('-')} @@\n${lines.join('')}`;
}

/** Of lines that change together those that go are shown before those that come. */
function removalsFirst(edits: readonly Edit[]): readonly Edit[] {
  const shown: Edit[] = [];
  let added: Edit[] = [];
  for (const edit of edits) {
    if (edit.mark === '+') added.push(edit);
    else {
      if (edit.mark === ' ') {
        shown.push(...added);
        added = [];
      }
      shown.push(edit);
    }
  }
  return [...shown, ...added];
}

const rangeText = (ahead: number, count: number): string =>
  count === 1 ? `${ahead + 1}` : `${count === 0 ? ahead : ahead + 1},${count}`;
