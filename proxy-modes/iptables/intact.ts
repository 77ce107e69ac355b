// Whether the tables still hold what was put there. Pure.
// Guarantees: every chain of ours is counted and every jump to them looked for; rules of others do not matter.
import type { Ruleset } from '../../src/kernel/iptables/port.js';
import type { IpFamily, ServicePort, TrafficOptions } from '../../src/proxy/state.js';
import { baseRules, OWNED } from './plan/base.js';
import { planService } from './plan/service.js';
import { missingJumps, type PerTable, type Table } from './tables.js';

const TABLES = ['nat', 'filter', 'mangle'] as const satisfies readonly Table[];

/** How many rules each chain of ours has, told service by service. */
export class Expectation {
  readonly #counts: PerTable<Map<string, number>> = {
    nat: new Map(),
    filter: new Map(),
    mangle: new Map(),
  };

  constructor(private readonly options: TrafficOptions & { readonly family: IpFamily }) {
    for (const table of TABLES) {
      for (const name of OWNED.chains[table]) this.#counts[table].set(name, 0);
      for (const rule of baseRules(table, options)) this.#count(table, rule.split(' ', 2)[1]);
    }
  }

  add(port: ServicePort): void {
    const { chains, nat, filter } = planService(port, this.options);
    for (const rule of nat) this.#count('nat', rule.split(' ', 1)[0]);
    for (const rule of filter) this.#count('filter', rule.split(' ', 1)[0]);
    for (const [name, rules] of chains) this.#counts.nat.set(name, rules.length);
  }

  isMetBy(saved: Ruleset): boolean {
    const missing = missingJumps(OWNED, saved);
    return TABLES.every((table) => {
      const chains = saved.get(table)?.chains;
      const isCounted = ([name, rules]: [string, number]) => chains?.get(name)?.rules.length === rules;
      return missing[table].length === 0 && [...this.#counts[table]].every(isCounted);
    });
  }

  #count(table: Table, name = ''): void {
    this.#counts[table].set(name, (this.#counts[table].get(name) ?? 0) + 1);
  }
}
