// Whether the tables still hold what was put there. Pure.
// Guarantees: every chain of ours is counted and every jump to them looked for; rules of others do not matter.
import type { Ruleset } from '../../src/kernel/iptables/port.js';
import type { IpFamily, TrafficOptions } from '../../src/proxy/state.js';
import { baseRules, OWNED } from './plan/base.js';
import type { Table } from './tables.js';
import type { Applied } from './transaction.js';

const TABLES = ['nat', 'filter', 'mangle'] as const satisfies readonly Table[];

export function isIntact(
  saved: Ruleset,
  applied: Applied,
  options: TrafficOptions & { readonly family: IpFamily },
): boolean {
  return TABLES.every((table) => {
    const chains = saved.get(table)?.chains;
    const isCounted = [...wanted(table, applied, options)].every(
      ([name, rules]) => chains?.get(name)?.rules.length === rules,
    );
    return (
      isCounted &&
      OWNED.jumps[table].every((jump) => {
        const [from = ''] = jump.split(' ', 1);
        return chains?.get(from)?.rules.includes(`-A ${jump}`) === true;
      })
    );
  });
}

/** How many rules each chain of ours has. */
function wanted(
  table: Table,
  applied: Applied,
  options: TrafficOptions & { readonly family: IpFamily },
): Map<string, number> {
  const counts = new Map(OWNED.chains[table].map((name) => [name, 0]));
  const count = (name = '') => counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const rule of baseRules(table, options)) count(rule.split(' ', 2)[1]);
  for (const { plan } of applied.values()) {
    if (table === 'mangle') continue;
    for (const rule of plan[table]) count(rule.split(' ', 1)[0]);
    if (table === 'nat') for (const [name, rules] of plan.chains) counts.set(name, rules.length);
  }
  return counts;
}
