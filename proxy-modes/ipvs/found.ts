// What the kernel holds of this mode, whoever put it there, and the change from it to what should be. Pure.
// Guarantees: a server is ours only if it is wanted, has an address of the node or of our device, or is a node port that our
// sets know; servers in excluded networks and everything behind others' servers are left alone.
import { type Cidr, contains } from '../../src/api/ip.js';
import type { IpvsService } from '../../src/kernel/ipvs/port.js';
import type { IpFamily } from '../mode.js';
import { drainingOf, named, serverOf } from './listing.js';
import { type Applied, type Change, serverChange } from './transaction.js';

export interface Found {
  readonly family: IpFamily;
  readonly services: readonly IpvsService[];
  /** Addresses of our device. */
  readonly held: readonly string[];
  /** Addresses of the node besides. */
  readonly localIps: readonly string[];
  /** Entries of our sets, each `kind entry`. */
  readonly entries: ReadonlySet<string>;
  /** Networks whose servers belong to somebody else. */
  readonly excluded: readonly Cidr[];
}

const NODE_PORT_SETS = { tcp: 'NODE-PORT-TCP', udp: 'NODE-PORT-UDP', sctp: 'NODE-PORT-SCTP-HASH' } as const;

/** Those of the family that are ours, by what is there. */
export function oursAmong({ family, services, held, localIps, entries, excluded }: Found) {
  const addresses = new Set([...held, ...localIps]);
  // Such a one outlives its address, and takes what the node then sends there.
  const isNodePort = ({ protocol = 'tcp', address, port, destinations }: IpvsService) => {
    const entry = protocol === 'sctp' ? `${address},sctp:${port}` : port;
    return (
      entries.has(`${NODE_PORT_SETS[protocol]} ${entry}`) &&
      destinations.every(({ forward }) => forward === 'masq')
    );
  };
  return services.flatMap(named).filter(([, service]) => {
    const { address = '' } = service;
    if (address.includes(':') !== (family === 'ip6')) return false;
    if (excluded.some((cidr) => contains(cidr, address))) return false;
    return addresses.has(address) || entries.has(`IPVS-IPS ${address}`) || isNodePort(service);
  });
}

/** From what is there to what is wanted. */
export function changeFrom(found: Found, { servers, addresses, entries }: Applied): Change {
  const wanted = found.services.flatMap(named).filter(([name]) => servers.has(name));
  const ours = new Map([...oursAmong(found), ...wanted]);
  const names = new Set([...ours.keys(), ...servers.keys()]);
  const steps = [...names].map((name) => {
    const there = ours.get(name);
    return serverChange(there && serverOf(there), servers.get(name)?.[0]);
  });
  // What an earlier process left draining goes on draining here.
  const left = [...ours.values()].flatMap((service) =>
    drainingOf(service).map((endpoint) => ({ service: serverOf(service).key, endpoint })),
  );
  const isHeld = new Set(found.held);
  return {
    ipvs: steps.flatMap(({ requests }) => requests),
    draining: [...left, ...steps.flatMap(({ draining }) => draining)],
    addresses: {
      added: [...addresses.keys()].filter((address) => !isHeld.has(address)),
      removed: found.held.filter((address) => !addresses.has(address)),
    },
    entries: {
      added: [...entries.keys()].filter((entry) => !found.entries.has(entry)),
      removed: [...found.entries].filter((entry) => !entries.has(entry)),
    },
  };
}
