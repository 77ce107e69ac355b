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
  const touched = {
    servers: new Map<string, VirtualServer | undefined>(),
    addresses: new Map<string, number>(),
    entries: new Map<string, number>(),
  };
  const count = (kind: 'addresses' | 'entries', name: string, by: 1 | -1) => {
    const before = applied[kind].get(name) ?? 0;
    if (!touched[kind].has(name)) touched[kind].set(name, before);
    if (before + by === 0) applied[kind].delete(name);
    else applied[kind].set(name, before + by);
  };
  const enter = (plan: ServicePlan, by: 1 | -1) => {
    for (const server of plan.servers) {
      const name = serverName(server.key);
      const claims = applied.servers.get(name) ?? [];
      if (!touched.servers.has(name)) touched.servers.set(name, claims[0]);
      const others = claims.filter(({ claim }) => claim !== server.claim);
      const now = by === 1 ? [...others, server].sort(byClaim) : others;
      if (now.length === 0) applied.servers.delete(name);
      else applied.servers.set(name, now);
    }
    for (const address of plan.addresses) count('addresses', address, by);
    for (const entry of plan.entries) count('entries', entry, by);
  };
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
    if (old !== undefined) enter(old.plan, -1);
    applied.services.delete(key);
  }
  for (const key of keys) {
    const port = portOf(key);
    if (port === undefined) continue;
    const plan = planService(port, options);
    enter(plan, 1);
    applied.services.set(key, { port, plan });
  }
  const differences = (kind: 'addresses' | 'entries') => ({
    added: [...touched[kind]]
      .filter(([name, before]) => before === 0 && applied[kind].has(name))
      .map(([name]) => name),
    removed: [...touched[kind]]
      .filter(([name, before]) => before > 0 && !applied[kind].has(name))
      .map(([name]) => name),
  });
  const servers = [...touched.servers].map(([name, before]) =>
    serverChange(before, applied.servers.get(name)?.[0]),
  );
  return {
    ipvs: servers.flatMap(({ requests }) => requests),
    draining: servers.flatMap(({ draining }) => draining),
    addresses: differences('addresses'),
    entries: differences('entries'),
  };
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
