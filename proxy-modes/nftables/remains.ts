// What a table of ours holds before everything is written anew, and how it makes room. Pure but for the look.
// Guarantees: sets that remember clients stay, so that neither a restart nor a repair moves anybody; the rest goes in the
// same transaction in which the new comes.
import type { NftPort, NftRequest } from '../../src/kernel/nftables/port.js';
import { clientSet, type TableName } from './plan/base.js';

export interface Remains {
  readonly chains: readonly string[];
  readonly sets: readonly string[];
  /** Those of the sets that remember clients as ours do. */
  readonly clientSets: ReadonlySet<string>;
}

/** Undefined where there is no table, or one that is better made anew as a whole. */
export async function findRemains(nft: NftPort, place: TableName): Promise<Remains | undefined> {
  const at = { family: place.family, table: place.table };
  const [table] = await nft.tables({ family: place.family, name: place.table });
  if (table === undefined || (table.flags ?? []).length > 0) return undefined;
  const [chains, sets] = await Promise.all([nft.chains(at), nft.sets(at)]);
  // The kernel's own go with the rules that use them.
  const named = sets.filter(({ flags = [] }) => !flags.includes('anonymous'));
  const same = named.filter(({ name, type, mapType, flags = [] }) => {
    const ours = clientSet(place, name);
    const isAlike = String(type) === String(ours.type) && mapType === undefined;
    return isAlike && [...flags].sort().join() === [...(ours.flags ?? [])].sort().join();
  });
  return {
    chains: chains.map(({ name }) => name),
    sets: named.map(({ name }) => name),
    clientSets: new Set(same.map(({ name }) => name)),
  };
}

const COMMENT = 'Trellis: rules for services';

/** An empty table of ours but for `kept`; to be followed by `base` in the same transaction. */
export function emptyTable(
  { family, table: name }: TableName,
  remains: Remains | undefined,
  kept: ReadonlySet<string>,
): NftRequest[] {
  if (remains === undefined)
    return [
      { do: 'add', kind: 'table', family, name },
      { do: 'delete', kind: 'table', family, name },
      { do: 'add', kind: 'table', family, name, comment: COMMENT },
    ];
  const gone = (kind: 'chain' | 'set') => (one: string) =>
    ({ do: 'delete', kind, family, table: name, name: one }) as const;
  return [
    // Rules hold sets, and sets hold chains.
    { do: 'flush', kind: 'table', family, name },
    ...remains.sets.filter((set) => !kept.has(set)).map(gone('set')),
    ...remains.chains.map(gone('chain')),
  ];
}
