// Whether a table still holds what was put into it.
// Guarantees: every chain is looked for and every element compared; rules are not, since their changes are told by events.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NftPort, SetElement } from '../../src/kernel/nftables/port.js';
import { balanceChain } from './names.js';
import { baseChains, sets, type TableName } from './plan/base.js';
import { SHARED_CHAIN } from './plan/service.js';
import type { Applied } from './transaction.js';

/** Services compared between two turns of the event loop. */
const SLICE = 500;

export async function isIntact(nft: NftPort, place: TableName, applied: Applied): Promise<boolean> {
  const at = { family: place.family, table: place.table };
  if ((await nft.tables({ family: place.family, name: place.table })).length === 0) return false;
  const { chains, elements } = await expected(place, applied);
  const found = await nft.chains(at);
  if (found.length !== chains.size || found.some(({ name }) => !chains.has(name))) return false;
  for (const [set, wanted] of elements) {
    const there = await nft.elements({ ...at, set });
    const isAsWanted = (one: SetElement) => wanted.get(one.key) === goalOf(one);
    if (there.length !== wanted.size || !there.every(isAsWanted)) return false;
  }
  return true;
}

/** The names of all chains, and what each element of each set leads to. */
async function expected(place: TableName, { services, shared }: Applied) {
  const elements = new Map(Object.keys(sets(place)).map((set) => [set, new Map<string, string>()]));
  const chains = new Set(baseChains(place));
  let seen = 0;
  for (const { plan } of services.values()) {
    for (const [set, own] of Object.entries(plan.elements))
      for (const one of own) elements.get(set)?.set(one.key, goalOf(one));
    for (const chain of plan.chains.keys()) chains.add(chain);
    if (++seen % SLICE === 0) await nextTurn();
  }
  for (const element of shared.keys()) {
    const blank = element.indexOf(' ');
    const [set, key] = [element.slice(0, blank), element.slice(blank + 1)];
    if (set === SHARED_CHAIN) chains.add(balanceChain(Number(key)));
    else elements.get(set)?.set(key, '');
  }
  return { chains, elements };
}

const goalOf = ({ verdict, data }: SetElement): string => String(verdict ?? data ?? '');
