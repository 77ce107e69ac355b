// From what is in the kernel to what should be, as lines for one iptables-restore. Pure.
// Guarantees: the lines follow the change, not the number of services; with nothing applied everything is written anew
// and chains that other runs have left are removed.
import type { Ruleset } from '../../src/kernel/iptables/port.js';
import type { IpFamily, ProxyState, ServicePort, TrafficOptions } from '../mode.js';
import { Applied, type Changes } from './applied.js';
import { baseRules, OWNED } from './plan/base.js';
import { filterRules, type PlanOptions, planService } from './plan/service.js';
import { declare, missingJumps, serviceChains, type Table, wholeTable } from './tables.js';

interface Transaction<Lines = readonly string[]> {
  readonly lines: Lines;
  /** What changes in `Applied` once the lines are in the kernel. */
  readonly services: Changes;
}

interface Wanted {
  readonly family: IpFamily;
  readonly state: ProxyState;
  readonly changed?: ReadonlySet<string> | undefined;
}

/** The change from what was applied before. */
export function transaction(wanted: Wanted, applied: Applied, options: TrafficOptions): Transaction {
  const services = changesOf(wanted, applied);
  // A chain that was written while the cluster was smaller, or larger, stays as it is until it changes.
  const place = { ...options, isLarge: applied.isLargeWith(services) };
  const nat = new Lines();
  const filter = new Lines();
  for (const [key, port] of services) {
    const [before, plan] = [applied.services.get(key), port].map((one) => one && planService(one, place));
    nat.replaceChains(before?.chains, plan?.chains);
    nat.replaceShared(before?.nat, plan?.nat);
    filter.replaceShared(before?.filter, plan?.filter);
  }
  return { lines: [...filter.table('filter'), ...nat.table('nat')], services };
}

function changesOf({ state, changed, family }: Wanted, { services }: Applied): Changes {
  const changes = new Map<string, ServicePort | undefined>();
  for (const key of changed ?? new Set([...services.keys(), ...state.keys()])) {
    const found = state.get(key);
    const port = found?.family === family ? found : undefined;
    if (services.get(key) !== port) changes.set(key, port);
  }
  return changes;
}

/** Everything anew, given what the tables hold now. The lines are made when they are asked for, each time. */
export function fullTransaction(
  wanted: Wanted,
  found: Ruleset,
  options: TrafficOptions,
): Transaction<Iterable<string>> {
  const services = new Map([...wanted.state].filter(([, port]) => port.family === wanted.family));
  const ports = [...services.values()];
  const place = { ...options, family: wanted.family, isLarge: new Applied().isLargeWith(services) };
  // Looked up now, so that what was found need not be kept until the lines are.
  const missing = missingJumps(OWNED, found);
  const leftOver = leftOverChains(found, ports, options);
  function* lines() {
    yield* wholeTable(OWNED, 'mangle', { missing, rules: [] });
    yield* wholeTable(OWNED, 'filter', { missing, rules: filterLines(ports, place) });
    yield* wholeTable(OWNED, 'nat', { missing, rules: natLines(ports, place), leftOver });
  }
  return { lines: { [Symbol.iterator]: lines }, services };
}

/** Chains of services that are there no more, or of another run. */
function leftOverChains(found: Ruleset, ports: readonly ServicePort[], options: TrafficOptions): string[] {
  const there = serviceChains(OWNED, found);
  if (there.length === 0) return [];
  const ours = new Set(ports.flatMap((port) => [...planService(port, options).chains.keys()]));
  return there.filter((name) => !ours.has(name));
}

type Place = PlanOptions & { readonly family: IpFamily };

function* filterLines(ports: readonly ServicePort[], place: Place): Generator<string> {
  for (const port of ports) yield* filterRules(port, place).map(append);
  yield* baseRules('filter', place);
}

/** What jumps to a chain comes after it. The jump to the node ports must stay the last of its chain, so it is last here. */
function* natLines(ports: readonly ServicePort[], place: Place): Generator<string> {
  for (const port of ports) {
    const { chains, nat } = planService(port, place);
    yield* [...chains.keys()].map(declare);
    for (const [name, rules] of [...chains].reverse()) for (const rule of rules) yield `-A ${name} ${rule}`;
    yield* nat.map(append);
  }
  yield* baseRules('nat', place);
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
