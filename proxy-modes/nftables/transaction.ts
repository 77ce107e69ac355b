// From what is in the kernel to what should be, as one transaction. Pure.
// Guarantees: the requests follow the change, not the number of services; with nothing applied the table is made anew, but
// for the sets that remember clients.
import type { NftRequest, SetElement } from '../../src/kernel/nftables/port.js';
import type { ProxyState, ServicePort, TrafficOptions } from '../mode.js';
import * as names from './names.js';
import { base, clientSet, sets, type TableName } from './plan/base.js';
import { chainRules } from './plan/chain.js';
import {
  type ChainStep,
  planService,
  type ServicePlan,
  SHARED_CHAIN,
  sharedElements,
  sharedSteps,
} from './plan/service.js';
import { emptyTable, type Remains } from './remains.js';

export interface Programmed {
  readonly port: ServicePort;
  readonly plan: ServicePlan;
}

/** What the commits so far have left in the kernel. */
export interface Applied {
  readonly services: ReadonlyMap<string, Programmed>;
  /** How many service ports ask for each shared element. */
  readonly shared: ReadonlyMap<string, number>;
}

export interface Transaction {
  readonly requests: readonly NftRequest[];
  /** What changes in `Applied` once the requests are committed; absent entries are gone. */
  readonly services: ReadonlyMap<string, Programmed | undefined>;
  readonly shared: ReadonlyMap<string, number>;
  /** Whose requests are whose, where that was asked for. */
  readonly owners: ReadonlyMap<NftRequest, string>;
}

export interface Wanted {
  readonly state: ProxyState;
  /** Keys that may differ from what is applied; without it all are compared. */
  readonly changed?: ReadonlySet<string> | undefined;
  /** Keys of the state that are left out. */
  readonly without?: { has(key: string): boolean };
  /** What the table holds when nothing is applied that we know of. */
  readonly remains?: Remains | undefined;
  /** Every service gets requests of its own, so that a refusal tells whose it is. */
  readonly apart?: boolean;
}

export function transaction(
  place: TableName,
  { state, changed, without, remains, apart = false }: Wanted,
  applied: Applied | undefined,
  options: TrafficOptions,
): Transaction {
  const before = applied ?? { services: new Map<string, Programmed>(), shared: new Map<string, number>() };
  const keys =
    applied === undefined || changed === undefined ? [...before.services.keys(), ...state.keys()] : changed;
  const services = new Map<string, Programmed | undefined>();
  const shared = new Counts(before.shared);
  const changes = new Changes(place, options, { there: remains?.clientSets ?? new Set(), apart });
  for (const key of keys) {
    const old = before.services.get(key);
    const found = state.get(key);
    const port = found?.family === place.family && without?.has(key) !== true ? found : undefined;
    if (old?.port === port || services.has(key)) continue;
    const plan = port === undefined ? undefined : planService(port, options);
    changes.replace(key, old?.plan, plan);
    if (old !== undefined) shared.count(old.port, -1);
    if (port !== undefined) shared.count(port, 1);
    services.set(key, port === undefined || plan === undefined ? undefined : { port, plan });
  }
  const requests = changes.requests(shared.changes());
  const start =
    applied === undefined ? [...emptyTable(place, remains, changes.keptSets), ...base(place, options)] : [];
  return { requests: [...start, ...requests], services, shared: shared.counts, owners: changes.owners };
}

/** Enters a committed transaction into the record. */
export function advance(
  applied: { readonly services: Map<string, Programmed>; readonly shared: Map<string, number> },
  { services, shared }: Transaction,
): void {
  for (const [key, entry] of services) {
    if (entry === undefined) applied.services.delete(key);
    else applied.services.set(key, entry);
  }
  for (const [element, count] of shared) {
    if (count === 0) applied.shared.delete(element);
    else applied.shared.set(element, count);
  }
}

/** Gathers the changes of all services, so that each set gets its elements in one piece and in an order that holds. */
class Changes {
  readonly #place: TableName;
  readonly #options: TrafficOptions;
  readonly #from: { readonly there: ReadonlySet<string>; readonly apart: boolean };

  readonly #removed = new Map<string, SetElement[]>();
  readonly #added = new Map<string, SetElement[]>();
  readonly #emptied: string[] = [];
  readonly #unused: string[] = [];
  readonly #forgotten: string[] = [];
  readonly #made: NftRequest[] = [];
  readonly #rules: NftRequest[] = [];
  /** Elements of single services. */
  readonly #apart: NftRequest[] = [];
  #setId = 0;
  readonly owners = new Map<NftRequest, string>();
  /** Sets of clients that were there and are wanted. */
  readonly keptSets = new Set<string>();

  constructor(
    place: TableName,
    options: TrafficOptions,
    from: { readonly there: ReadonlySet<string>; readonly apart: boolean },
  ) {
    this.#place = place;
    this.#options = options;
    this.#from = from;
  }

  replace(key: string, old: ServicePlan | undefined, plan: ServicePlan | undefined): void {
    const { family, table } = this.#place;
    const [made, rules] = [this.#made.length, this.#rules.length];
    if (this.#from.apart && old === undefined && plan !== undefined) this.#addApart(key, plan);
    else this.#replaceElements(old, plan);
    for (const chain of old?.chains.keys() ?? [])
      if (plan?.chains.has(chain) !== true) this.#unused.push(chain);
    for (const set of old?.clientSets ?? [])
      if (plan?.clientSets.includes(set) !== true) this.#forgotten.push(set);
    for (const set of plan?.clientSets ?? [])
      if (this.#from.there.has(set)) this.keptSets.add(set);
      else if (old?.clientSets.includes(set) !== true)
        this.#made.push({ do: 'add', kind: 'set', ...clientSet(this.#place, set) });
    for (const [name, steps] of plan?.chains ?? []) {
      const there = old?.chains.get(name);
      if (there !== undefined && JSON.stringify(there) === JSON.stringify(steps)) continue;
      if (there !== undefined) this.#emptied.push(name);
      else this.#made.push({ do: 'add', kind: 'chain', family, table, name });
      this.#fill(name, steps);
    }
    if (!this.#from.apart) return;
    for (const request of [...this.#made.slice(made), ...this.#rules.slice(rules)])
      this.owners.set(request, key);
  }

  #addApart(key: string, plan: ServicePlan): void {
    const requests = this.#elements('add', new Map(Object.entries(plan.elements)));
    for (const request of requests) this.owners.set(request, key);
    this.#apart.push(...requests);
  }

  /** What refers to a chain or a set goes before it and comes after it. */
  requests(
    shared: readonly { readonly set: string; readonly key: string; readonly isNew: boolean }[],
  ): NftRequest[] {
    for (const { set, key, isNew } of shared) {
      if (set === SHARED_CHAIN) this.#shareChain(Number(key), isNew);
      else push(isNew ? this.#added : this.#removed, set, [{ key }]);
    }
    return [
      ...this.#elements('delete', this.#removed),
      ...[...this.#emptied, ...this.#unused].map((name) => this.#request('flush', 'chain', name)),
      ...this.#unused.map((name) => this.#request('delete', 'chain', name)),
      ...this.#forgotten.map((name) => this.#request('delete', 'set', name)),
      ...this.#made,
      ...this.#rules,
      ...this.#elements('add', this.#added),
      ...this.#apart,
    ];
  }

  #shareChain(endpoints: number, isNew: boolean): void {
    const name = names.balanceChain(endpoints);
    if (!isNew) {
      this.#unused.push(name);
      return;
    }
    const { family, table } = this.#place;
    this.#made.push({ do: 'add', kind: 'chain', family, table, name });
    this.#fill(name, sharedSteps(endpoints, this.#options));
  }

  #fill(name: string, steps: readonly ChainStep[]): void {
    const chain = { ...this.#place, chain: name, options: this.#options, nextSetId: () => ++this.#setId };
    this.#rules.push(...chainRules(chain, steps));
  }

  #request(verb: 'flush' | 'delete', kind: 'chain' | 'set', name: string): NftRequest {
    const { family, table } = this.#place;
    return { do: verb, kind, family, table, name };
  }

  /** What stays is not touched: no packet meets a moment without it, and there is less to send. */
  #replaceElements(old: ServicePlan | undefined, plan: ServicePlan | undefined): void {
    if (old === undefined) {
      for (const [set, elements] of Object.entries(plan?.elements ?? {})) push(this.#added, set, elements);
      return;
    }
    const texts = (from: ServicePlan | undefined) =>
      new Map(
        Object.entries(from?.elements ?? {}).flatMap(([set, elements]) =>
          elements.map((element) => {
            const text = `${set} ${element.key} ${element.verdict ?? element.data}`;
            return [text, { set, element }] as const;
          }),
        ),
      );
    const [before, after] = [texts(old), texts(plan)];
    for (const [text, { set, element }] of before) if (!after.has(text)) push(this.#removed, set, [element]);
    for (const [text, { set, element }] of after) if (!before.has(text)) push(this.#added, set, [element]);
  }

  #elements(verb: 'add' | 'delete', bySet: ReadonlyMap<string, readonly SetElement[]>): NftRequest[] {
    const known = sets(this.#place);
    return [...bySet].flatMap(([set, elements]): NftRequest[] => {
      const shape = known[set];
      if (elements.length === 0 || shape === undefined) return [];
      const { family, table, type, mapType } = shape;
      const map = mapType === undefined ? {} : { mapType };
      return [{ do: verb, kind: 'element', family, table, type, ...map, set, elements }];
    });
  }
}

/** How often each shared element is asked for after the change; only those that the change touches. */
class Counts {
  readonly #before: ReadonlyMap<string, number>;

  readonly counts = new Map<string, number>();

  constructor(before: ReadonlyMap<string, number>) {
    this.#before = before;
  }

  count(port: ServicePort, by: 1 | -1): void {
    for (const element of sharedElements(port))
      this.counts.set(element, (this.counts.get(element) ?? this.#before.get(element) ?? 0) + by);
  }

  changes() {
    return [...this.counts].flatMap(([element, count]) => {
      const isNew = count > 0;
      if (isNew === (this.#before.get(element) ?? 0) > 0) return [];
      const blank = element.indexOf(' ');
      return [{ set: element.slice(0, blank), key: element.slice(blank + 1), isNew }];
    });
  }
}

function push(into: Map<string, SetElement[]>, set: string, elements: readonly SetElement[]): void {
  const list = into.get(set);
  if (list === undefined) into.set(set, [...elements]);
  else list.push(...elements);
}
