// Whether the tables still hold what was put there. Pure.
// Guarantees: every rule of every chain of ours is compared, and every jump to them looked for; rules of others do not matter.
import type { Ruleset } from '../../src/kernel/iptables/port.js';
import type { IpFamily, ServicePort, TrafficOptions } from '../mode.js';
import { baseRules, OWNED } from './plan/base.js';
import { planService } from './plan/service.js';
import { fingerprint, type Likeness } from './spelling.js';
import { missingJumps, type PerTable, type Table } from './tables.js';

const TABLES = ['nat', 'filter', 'mangle'] as const satisfies readonly Table[];

/** The rules of a chain in two numbers: how many, and what they say. */
interface Sum {
  rules: number;
  said: number;
}

/** What each chain of ours has, told service by service: the rules themselves would take much memory. */
export class Expectation {
  readonly #options: TrafficOptions & { readonly family: IpFamily };

  readonly #sums: PerTable<Map<string, Sum>> = { nat: new Map(), filter: new Map(), mangle: new Map() };

  constructor(options: TrafficOptions & { readonly family: IpFamily }) {
    this.#options = options;

    for (const table of TABLES) {
      for (const name of OWNED.chains[table]) this.#sums[table].set(name, { rules: 0, said: 0 });
      for (const rule of baseRules(table, options)) this.#add(table, rule.slice('-A '.length));
    }
  }

  add(port: ServicePort): void {
    const { chains, nat, filter } = planService(port, this.#options);
    for (const rule of nat) this.#add('nat', rule);
    for (const rule of filter) this.#add('filter', rule);
    for (const [name, rules] of chains)
      this.#sums.nat.set(name, sumOf(rules.map((rule) => `${name} ${rule}`)));
  }

  likeness(saved: Ruleset): Likeness {
    const missing = missingJumps(OWNED, saved);
    let isSame = true;
    for (const table of TABLES) {
      if (missing[table].length > 0) return 'other';
      const chains = saved.get(table)?.chains;
      for (const [name, wanted] of this.#sums[table]) {
        const rules = chains?.get(name)?.rules;
        if (rules?.length !== wanted.rules) return 'other';
        isSame &&= sumOf(rules.map((rule) => rule.slice('-A '.length))).said === wanted.said;
      }
    }
    return isSame ? 'same' : 'as-many';
  }

  /** "chain rule": shared chains have their rules in any order. */
  #add(table: Table, rule: string): void {
    const name = rule.slice(0, rule.indexOf(' '));
    const { rules, said } = this.#sums[table].get(name) ?? { rules: 0, said: 0 };
    this.#sums[table].set(name, { rules: rules + 1, said: said + fingerprint(rule) });
  }
}

const sumOf = (rules: readonly string[]): Sum => ({
  rules: rules.length,
  said: rules.reduce((sum, rule) => sum + fingerprint(rule), 0),
});
