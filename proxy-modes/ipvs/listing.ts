// Between the kernel's lists and the plan's words: servers, destinations, entries of sets. Pure.
import type { IpSetRequest } from '../../src/kernel/ipset/port.js';
import type { IpvsDestination, IpvsService } from '../../src/kernel/ipvs/port.js';
import type { Endpoint, IpFamily } from '../mode.js';
import { SETS, type SetKind, setName } from './names.js';
import type { Destination, VirtualServer } from './plan/service.js';
import { serverName } from './transaction.js';

export const hostOf = (address: string) => address.split('/')[0] ?? address;

/** Servers of marked packets are never ours. */
export function named(service: IpvsService): [string, IpvsService][] {
  const { protocol, address, port } = service;
  if (protocol === undefined || address === undefined || port === undefined) return [];
  return [[serverName({ protocol, address, port }), service]];
}

/** As ours are made; thresholds of others' making would keep clients away. */
const isOurs = ({ weight, forward, upperThreshold = 0 }: IpvsDestination) =>
  weight === 1 && forward === 'masq' && upperThreshold === 0;

const placed = (to: IpvsDestination): Destination => ({
  ip: to.address,
  port: to.port,
  local: false,
  ...(isOurs(to) ? {} : { isForeign: true }),
});

/** Destinations that take no new connections. */
export const drainingOf = ({ destinations }: IpvsService): Endpoint[] =>
  destinations.filter(({ weight }) => weight === 0).map(placed);

/** As if we had planned it: what drains does not count as a destination. */
export function serverOf({
  protocol = 'tcp',
  address = '',
  port = 0,
  scheduler,
  flags,
  persistence,
  persistencePrefix,
  persistenceEngine,
  destinations,
}: IpvsService): VirtualServer {
  return {
    key: { protocol, address, port },
    claim: '',
    // In the order of a plan, by which they are compared.
    options: {
      scheduler,
      ...(flags === undefined || flags.length === 0 ? {} : { flags }),
      ...(persistence === undefined ? {} : { persistence }),
      ...(persistencePrefix === undefined ? {} : { persistencePrefix }),
      ...(persistenceEngine === undefined ? {} : { persistenceEngine }),
    },
    destinations: destinations.filter(({ weight }) => weight > 0).map(placed),
  };
}

export function entryRequests(
  family: IpFamily,
  verb: 'add' | 'delete',
  entries: readonly string[],
): IpSetRequest[] {
  const byKind = new Map<SetKind, string[]>();
  for (const text of entries) {
    const blank = text.indexOf(' ');
    const kind = text.slice(0, blank) as SetKind;
    const list = byKind.get(kind) ?? [];
    list.push(text.slice(blank + 1));
    byKind.set(kind, list);
  }
  return [...byKind].map(([kind, list]): IpSetRequest => {
    const set = setName(family, kind);
    const comment = SETS[kind][1];
    return verb === 'add'
      ? { do: 'add', kind: 'entry', set, existsOk: true, entries: list.map((entry) => ({ entry, comment })) }
      : { do: 'delete', kind: 'entry', set, missingOk: true, entries: list };
  });
}
