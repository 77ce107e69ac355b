// The order of a merged list: the patch's own order wins, what only the server has keeps its place. Pure.
// Guarantees: no element is lost or doubled; the relative order within each part is kept.

interface OrderRequest<T> {
  /** The merged list. */
  readonly items: readonly T[];
  /** Identities in the order that the patch asks for. */
  readonly wanted: readonly unknown[];
  /** Identities in the order they had before. */
  readonly before: readonly unknown[];
  identify(item: T): unknown;
}

/**
 * An element that only the server has goes before the first wanted element that used to follow it, else to the end.
 * So a new element that a patch names stands before the old ones that it does not name.
 */
export function orderMerged<T>({ items, wanted, before, identify }: OrderRequest<T>): T[] {
  const rank = ranks(wanted);
  const oldRank = ranks(before);
  const rankOf = (item: T) => rank.get(identify(item));
  const oldRankOf = (item: T) => oldRank.get(identify(item)) ?? -1;
  const asked = items
    .filter((item) => rankOf(item) !== undefined)
    .sort((a, b) => (rankOf(a) ?? 0) - (rankOf(b) ?? 0));
  const kept = items.filter((item) => rankOf(item) === undefined).sort((a, b) => oldRankOf(a) - oldRankOf(b));
  const result: T[] = [];
  let next = 0;
  for (const item of kept) {
    let end = next;
    while (end < asked.length && !(oldRankOf(asked[end] as T) > oldRankOf(item))) end++;
    for (const other of asked.slice(next, end)) result.push(other);
    result.push(item);
    next = end;
  }
  return [...result, ...asked.slice(next)];
}

function ranks(identities: readonly unknown[]): Map<unknown, number> {
  const map = new Map<unknown, number>();
  identities.forEach((identity, index) => {
    if (!map.has(identity)) map.set(identity, index);
  });
  return map;
}
