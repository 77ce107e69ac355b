// From what is in the kernel to what should be, as one transaction. Pure.
// Guarantees: the requests follow the change, not the number of services; with nothing applied the table is made anew.
import type { NftRequest, SetElement } from '../../src/kernel/nftables/port.js';
import type { ProxyState, ServicePort } from '../../src/proxy/state.js';
import * as names from './names.js';
import { base, freshTable, sets, type TableName } from './plan/base.js';
import { chainRules } from './plan/chain.js';
import { hairpins, type PlanOptions, planService, type ServicePlan } from './plan/service.js';

/** What one commit left in the kernel. */
export interface Applied {
  readonly services: ReadonlyMap<string, { readonly port: ServicePort; readonly plan: ServicePlan }>;
  /** How many service ports ask for each pair of the hairpin set. */
  readonly hairpins: ReadonlyMap<string, number>;
}

export interface Transaction {
  readonly requests: readonly NftRequest[];
  readonly result: Applied;
}

export function transaction(
  place: TableName,
  state: ProxyState,
  applied: Applied | undefined,
  options: PlanOptions,
): Transaction {
  const before: Applied = applied ?? { services: new Map(), hairpins: new Map() };
  const services = new Map(before.services);
  const pairs = new Map(before.hairpins);
  const changes = new Changes(place);
  for (const [key, old] of before.services) {
    if (state.get(key)?.family === place.family) continue;
    changes.remove(old.plan);
    count(pairs, old.port, -1);
    services.delete(key);
  }
  for (const [key, port] of state) {
    const old = services.get(key);
    if (port.family !== place.family || old?.port === port) continue;
    const plan = planService(port, options);
    changes.replace(old?.plan, plan);
    if (old !== undefined) count(pairs, old.port, -1);
    count(pairs, port, 1);
    services.set(key, { port, plan });
  }
  const requests = changes.requests(hairpinChanges(before.hairpins, pairs));
  const start = applied === undefined ? [...freshTable(place), ...base(place)] : [];
  return { requests: [...start, ...requests], result: { services, hairpins: pairs } };
}

/** Gathers the changes of all services, so that each set gets its elements in one piece and in an order that holds. */
class Changes {
  readonly #removed = new Map<string, SetElement[]>();
  readonly #added = new Map<string, SetElement[]>();
  readonly #unused: string[] = [];
  readonly #filled: NftRequest[] = [];
  #setId = 0;

  constructor(private readonly place: TableName) {}

  remove(plan: ServicePlan): void {
    for (const [set, elements] of Object.entries(plan.elements)) push(this.#removed, set, elements);
    this.#unused.push(...plan.chains.keys());
  }

  replace(old: ServicePlan | undefined, plan: ServicePlan): void {
    for (const [set, elements] of Object.entries(old?.elements ?? {})) push(this.#removed, set, elements);
    for (const [set, elements] of Object.entries(plan.elements)) push(this.#added, set, elements);
    for (const chain of old?.chains.keys() ?? []) if (!plan.chains.has(chain)) this.#unused.push(chain);
    const { family, table } = this.place;
    for (const [name, steps] of plan.chains) {
      const there = old?.chains.has(name) === true;
      this.#filled.push({ do: there ? 'flush' : 'add', kind: 'chain', family, table, name });
      this.#filled.push(...chainRules({ ...this.place, chain: name }, steps, () => ++this.#setId));
    }
  }

  /** Elements that lead to a chain go before it and come after it. */
  requests(pairs: { readonly removed: SetElement[]; readonly added: SetElement[] }): NftRequest[] {
    const { family, table } = this.place;
    push(this.#removed, names.HAIRPIN, pairs.removed);
    push(this.#added, names.HAIRPIN, pairs.added);
    return [
      ...this.#elements('delete', this.#removed),
      ...this.#unused.map((name): NftRequest => ({ do: 'delete', kind: 'chain', family, table, name })),
      ...this.#filled,
      ...this.#elements('add', this.#added),
    ];
  }

  #elements(verb: 'add' | 'delete', bySet: ReadonlyMap<string, SetElement[]>): NftRequest[] {
    const known = sets(this.place);
    return [...bySet].flatMap(([set, elements]): NftRequest[] => {
      const shape = known[set];
      if (elements.length === 0 || shape === undefined) return [];
      const { family, table, type, mapType } = shape;
      const map = mapType === undefined ? {} : { mapType };
      return [{ do: verb, kind: 'element', family, table, type, ...map, set, elements }];
    });
  }
}

function push(into: Map<string, SetElement[]>, set: string, elements: readonly SetElement[]): void {
  const list = into.get(set);
  if (list === undefined) into.set(set, [...elements]);
  else list.push(...elements);
}

function count(pairs: Map<string, number>, port: ServicePort, by: 1 | -1): void {
  for (const pair of hairpins(port)) {
    const left = (pairs.get(pair) ?? 0) + by;
    if (left === 0) pairs.delete(pair);
    else pairs.set(pair, left);
  }
}

function hairpinChanges(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>) {
  const missing = (from: ReadonlyMap<string, number>, of: ReadonlyMap<string, number>) =>
    [...of.keys()].filter((key) => !from.has(key)).map((key) => ({ key }));
  return { removed: missing(after, before), added: missing(before, after) };
}
