// From what is in the kernel to what should be: requests to IPVS, to the sets and to the device. Pure.
// Guarantees: requests follow the change; a destination that goes is first given weight 0, so that its connections end
// by themselves; an address is there before its server, and goes after it; a server that moves from one port to another stays.
import type { IpvsRequest } from '../../src/kernel/ipvs/port.js';
import type { Endpoint, IpFamily, ProxyState, ServicePort } from '../mode.js';
import {
  type IpvsOptions,
  planService,
  type ServerKey,
  type ServicePlan,
  type VirtualServer,
} from './plan/service.js';

interface Programmed {
  readonly port: ServicePort;
  readonly plan: ServicePlan;
}

/** What is in the kernel, by name. */
export interface Applied {
  readonly services: Map<string, Programmed>;
  /** Those who ask for each server; the first has it. */
  readonly servers: Map<string, readonly VirtualServer[]>;
  /** How many ports ask for each address of the device, and for each entry of a set. */
  readonly addresses: Map<string, number>;
  readonly entries: Map<string, number>;
}

export interface Change {
  readonly ipvs: readonly IpvsRequest[];
  readonly addresses: { readonly added: readonly string[]; readonly removed: readonly string[] };
  /** Each `kind entry`. */
  readonly entries: { readonly added: readonly string[]; readonly removed: readonly string[] };
  /** Destinations with weight 0 that go once they have no connections. */
  readonly draining: readonly { readonly service: ServerKey; readonly endpoint: Endpoint }[];
}

export const nothingApplied = (): Applied => ({
  services: new Map(),
  servers: new Map(),
  addresses: new Map(),
  entries: new Map(),
});

export const serverName = ({ protocol, address, port }: ServerKey) => `${protocol} ${address} ${port}`;
const byClaim = (a: VirtualServer, b: VirtualServer) => (a.claim < b.claim ? -1 : 1);
export const placeOf = ({ ip, port }: Pick<Endpoint, 'ip' | 'port'>) => `${ip} ${port}`;

interface Wanted {
  readonly family: IpFamily;
  readonly state: ProxyState;
  readonly changed?: ReadonlySet<string> | undefined;
}

/** Brings `applied` to the state and tells how; nothing of it may be kept when the requests fail. */
export function advance(applied: Applied, { family, state, changed }: Wanted, options: IpvsOptions): Change {
  const touched = new Touched(applied);
  const portOf = (key: string) => {
    const found = state.get(key);
    return found?.family === family ? found : undefined;
  };
  const keys = [...(changed ?? new Set([...applied.services.keys(), ...state.keys()]))].filter(
    (key) => applied.services.get(key)?.port !== portOf(key),
  );
  // Everything that goes, then everything that comes: an address may move from one key to another.
  for (const key of keys) {
    const old = applied.services.get(key);
    if (old !== undefined) touched.enter(old.plan, -1);
    applied.services.delete(key);
  }
  for (const key of keys) {
    const port = portOf(key);
    if (port === undefined) continue;
    const plan = planService(port, options);
    touched.enter(plan, 1);
    applied.services.set(key, { port, plan });
  }
  return touched.change();
}

/** What plans that come and go make of `applied`, and how each thing they touch was before. */
class Touched {
  readonly #applied: Applied;
  readonly #servers = new Map<string, VirtualServer | undefined>();
  readonly #counts = { addresses: new Map<string, number>(), entries: new Map<string, number>() };

  constructor(applied: Applied) {
    this.#applied = applied;
  }

  enter(plan: ServicePlan, by: 1 | -1): void {
    for (const server of plan.servers) this.#claim(server, by);
    for (const address of plan.addresses) this.#count('addresses', address, by);
    for (const entry of plan.entries) this.#count('entries', entry, by);
  }

  #claim(server: VirtualServer, by: 1 | -1): void {
    const { servers } = this.#applied;
    const name = serverName(server.key);
    const claims = servers.get(name) ?? [];
    if (!this.#servers.has(name)) this.#servers.set(name, claims[0]);
    const others = claims.filter(({ claim }) => claim !== server.claim);
    const now = by === 1 ? [...others, server].sort(byClaim) : others;
    if (now.length === 0) servers.delete(name);
    else servers.set(name, now);
  }

  #count(kind: 'addresses' | 'entries', name: string, by: 1 | -1): void {
    const [counts, befores] = [this.#applied[kind], this.#counts[kind]];
    const before = counts.get(name) ?? 0;
    if (!befores.has(name)) befores.set(name, before);
    if (before + by === 0) counts.delete(name);
    else counts.set(name, before + by);
  }

  change(): Change {
    const servers = [...this.#servers].map(([name, before]) =>
      serverChange(before, this.#applied.servers.get(name)?.[0]),
    );
    return {
      ipvs: servers.flatMap(({ requests }) => requests),
      draining: servers.flatMap(({ draining }) => draining),
      addresses: this.#differences('addresses'),
      entries: this.#differences('entries'),
    };
  }

  #differences(kind: 'addresses' | 'entries') {
    const isThere = (name: string) => this.#applied[kind].has(name);
    const befores = [...this.#counts[kind]];
    return {
      added: befores.filter(([name, before]) => before === 0 && isThere(name)).map(([name]) => name),
      removed: befores.filter(([name, before]) => before > 0 && !isThere(name)).map(([name]) => name),
    };
  }
}

/** From one form of a virtual server to another; also used against what the kernel lists. */
export function serverChange(
  before: VirtualServer | undefined,
  after: VirtualServer | undefined,
): { requests: IpvsRequest[]; draining: { service: ServerKey; endpoint: Endpoint }[] } {
  if (after === undefined) {
    const gone: IpvsRequest[] =
      before === undefined ? [] : [{ do: 'delete', kind: 'service', ...before.key, missingOk: true }];
    return { requests: gone, draining: [] };
  }
  const service = after.key;
  const isSame = before !== undefined && JSON.stringify(before.options) === JSON.stringify(after.options);
  const old = new Map((before?.destinations ?? []).map((endpoint) => [placeOf(endpoint), endpoint]));
  const now = new Set(after.destinations.map(placeOf));
  const leaving = [...old.values()].filter((endpoint) => !now.has(placeOf(endpoint)));
  const isTcp = service.protocol !== 'udp';
  return {
    requests: [
      ...(isSame ? [] : [{ do: 'replace', kind: 'service', ...service, ...after.options } as const]),
      // One that is draining comes back by the same request.
      ...after.destinations
        .filter((endpoint) => {
          const there = old.get(placeOf(endpoint));
          return there === undefined || there.isForeign === true;
        })
        .map(
          ({ ip, port }): IpvsRequest => ({
            do: 'replace',
            kind: 'destination',
            service,
            address: ip,
            port,
            weight: 1,
          }),
        ),
      ...leaving.map(
        ({ ip, port }): IpvsRequest =>
          isTcp
            ? { do: 'replace', kind: 'destination', service, address: ip, port, weight: 0 }
            : { do: 'delete', kind: 'destination', service, address: ip, port, missingOk: true },
      ),
    ],
    draining: isTcp ? leaving.map((endpoint) => ({ service, endpoint })) : [],
  };
}
