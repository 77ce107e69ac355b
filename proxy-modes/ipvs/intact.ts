// Whether the kernel still holds what was put there. Pure.
// Guarantees: servers with their options and destinations with their weights, addresses, entries, rules and jumps are compared,
// not counted; what others have besides does not matter.

import type { Ruleset } from '../../src/kernel/iptables/port.js';
import type { IpvsService } from '../../src/kernel/ipvs/port.js';
import { missingJumps, type Table } from '../iptables/tables.js';
import { serverOf } from './listing.js';
import { OWNED } from './plan/base.js';
import type { VirtualServer } from './plan/service.js';
import { serverChange } from './transaction.js';

export const serverIntact = (there: IpvsService | undefined, wanted: VirtualServer | undefined): boolean =>
  there !== undefined && serverChange(serverOf(there), wanted).requests.length === 0;

/** Also that nothing is there besides. */
export function sameMembers(wanted: Iterable<string>, found: readonly string[]): boolean {
  const there = new Set(found);
  let count = 0;
  for (const member of wanted) {
    if (!there.has(member)) return false;
    count += 1;
  }
  return count === there.size;
}

const TABLES = ['nat', 'filter', 'mangle'] as const satisfies readonly Table[];

/**
 * Our chains as the tool prints them, undefined where a jump to one is missing. Compared with what was printed after
 * writing, since versions of the tool spell rules differently.
 */
export function printed(saved: Ruleset): string | undefined {
  const missing = missingJumps(OWNED, saved);
  if (TABLES.some((table) => missing[table].length > 0)) return undefined;
  return TABLES.flatMap((table) =>
    OWNED.chains[table].map((name) => {
      const rules = saved.get(table)?.chains.get(name)?.rules ?? ['none'];
      return [`*${table} :${name}`, ...rules].join('\n');
    }),
  ).join('\n');
}
