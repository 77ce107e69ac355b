// The known name that a misspelt one is most likely meant to be. Pure.
// Guarantees: only a name that differs by a third of its letters at most is answered; the work is bounded, whatever is given.

/** Nobody misspells longer names by a letter or two and wonders. */
const LONGEST = 64;

export function nearestName(given: string, known: Iterable<string>): string | undefined {
  if (given.length > LONGEST) return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(given.length / 3)) + 1;
  for (const name of known) {
    if (name.length > LONGEST || Math.abs(name.length - given.length) >= least) continue;
    const distance = changes(given.toLowerCase(), name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** What is said after a name that nobody knows: nothing where no name is near. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const name = nearestName(given, known);
  return name === undefined ? '' : `; did you mean ${name}?`;
}

/** How many letters must be put in, left out, replaced or swapped with the next to come from one to the other. */
function changes(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, at) => at)];
  const cost = (row: number, at: number) => rows[row]?.[at] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row++) {
    const line = [row];
    rows.push(line);
    for (let at = 1; at <= to.length; at++) {
      const isSame = from[row - 1] === to[at - 1];
      const isSwapped = from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      line[at] = Math.min(
        cost(row - 1, at - 1) + (isSame ? 0 : 1),
        cost(row - 1, at) + 1,
        cost(row, at - 1) + 1,
        isSwapped ? cost(row - 2, at - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return cost(from.length, to.length);
}
