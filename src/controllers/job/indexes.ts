// Sets of completion indexes in the form of a Job's status: `0-2,5`. Pure.
// Guarantees: what is written reads back the same; text that is no such list reads as far as it makes sense.

export function parseIndexes(text: string | undefined, completions: number): Set<number> {
  const indexes = new Set<number>();
  for (const part of (text ?? '').split(',')) {
    const match = /^([0-9]{1,9})(?:-([0-9]{1,9}))?$/.exec(part.trim());
    if (match === null) continue;
    const first = Number(match[1]);
    const last = Math.min(Number(match[2] ?? match[1]), completions - 1);
    for (let index = first; index <= last; index++) indexes.add(index);
  }
  return indexes;
}

export function formatIndexes(indexes: ReadonlySet<number>): string {
  const sorted = [...indexes].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length; ) {
    const first = sorted[at] ?? 0;
    let last = first;
    for (at++; sorted[at] === last + 1; at++) last++;
    // Two neighbours are listed one by one, as Kubernetes does.
    parts.push(first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`);
  }
  return parts.join(',');
}
