// From what is in the kernel to what should be, as lines for one iptables-restore. Pure.
// Guarantees: the lines follow the change, not the number of services; with nothing applied everything is written anew
// and chains that other runs have left are removed.
import type { Ruleset } from '../../src/kernel/iptables/port.js';
import type { IpFamily, ProxyState, ServicePort, TrafficOptions } from '../../src/proxy/state.js';
import { baseRules, OWNED } from './plan/base.js';
import { planService, type ServicePlan } from './plan/service.js';
import { declare, type Table, wholeTable } from './tables.js';

export interface Programmed {
  readonly port: ServicePort;
  readonly plan: ServicePlan;
}

export type Applied = ReadonlyMap<string, Programmed>;

export interface Transaction {
  readonly lines: readonly string[];
  /** What changes in `Applied` once the lines are in the kernel; absent entries are gone. */
  readonly services: ReadonlyMap<string, Programmed | undefined>;
}

export interface Wanted {
  readonly family: IpFamily;
  readonly state: ProxyState;
  readonly changed?: ReadonlySet<string> | undefined;
}

/** The change from what was applied before. */
export function transaction(wanted: Wanted, applied: Applied, options: TrafficOptions): Transaction {
  const { state, changed, family } = wanted;
  const services = new Map<string, Programmed | undefined>();
  const nat = new Lines();
  const filter = new Lines();
  for (const key of changed ?? new Set([...applied.keys(), ...state.keys()])) {
    const old = applied.get(key);
    const found = state.get(key);
    const port = found?.family === family ? found : undefined;
    if (old?.port === port) continue;
    const plan = port === undefined ? undefined : planService(port, options);
    nat.replaceChains(old?.plan.chains, plan?.chains);
    nat.replaceShared(old?.plan.nat, plan?.nat);
    filter.replaceShared(old?.plan.filter, plan?.filter);
    services.set(key, port === undefined || plan === undefined ? undefined : { port, plan });
  }
  return { lines: [...filter.table('filter'), ...nat.table('nat')], services };
}

/** Everything anew, given what the tables hold now. */
export function fullTransaction(wanted: Wanted, found: Ruleset, options: TrafficOptions): Transaction {
  const services = new Map<string, Programmed>();
  for (const [key, port] of wanted.state)
    if (port.family === wanted.family) services.set(key, { port, plan: planService(port, options) });
  const plans = [...services.values()].map(({ plan }) => plan);
  const place = { ...options, family: wanted.family };
  const lines = [
    ...wholeTable(OWNED, 'mangle', found, { rules: [] }),
    ...wholeTable(OWNED, 'filter', found, {
      rules: [...plans.flatMap(({ filter }) => filter).map(append), ...baseRules('filter', place)],
    }),
    // The jump to the node ports must stay the last of its chain, so the shared rules come after the services'.
    ...wholeTable(OWNED, 'nat', found, {
      rules: [...plans.flatMap(({ nat }) => nat).map(append), ...baseRules('nat', place)],
      chains: new Map(plans.flatMap((plan) => [...plan.chains])),
    }),
  ];
  return { lines, services };
}

const append = (rule: string) => `-A ${rule}`;

/** Gathers the changes of one table in an order that holds: what refers to a chain goes before it and comes after it. */
class Lines {
  readonly #declared: string[] = [];
  readonly #removed: string[] = [];
  readonly #filled: string[] = [];
  readonly #inserted: string[] = [];
  readonly #deleted: string[] = [];

  replaceChains(
    old: ReadonlyMap<string, readonly string[]> | undefined,
    now: ReadonlyMap<string, readonly string[]> | undefined,
  ): void {
    for (const name of old?.keys() ?? []) {
      if (now?.has(name) === true) continue;
      this.#declared.push(declare(name));
      this.#deleted.push(`-X ${name}`);
    }
    for (const [name, rules] of now ?? []) {
      if (old?.get(name)?.join('\n') === rules.join('\n')) continue;
      this.#declared.push(declare(name));
      for (const rule of rules) this.#filled.push(`-A ${name} ${rule}`);
    }
  }

  replaceShared(old: readonly string[] = [], now: readonly string[] = []): void {
    for (const rule of old) if (!now.includes(rule)) this.#removed.push(`-D ${rule}`);
    for (const rule of now) if (!old.includes(rule)) this.#inserted.push(`-I ${rule}`);
  }

  table(name: Table): string[] {
    const lines = [this.#declared, this.#removed, this.#filled, this.#inserted, this.#deleted].flat();
    return lines.length === 0 ? [] : [`*${name}`, ...lines, 'COMMIT'];
  }
}
