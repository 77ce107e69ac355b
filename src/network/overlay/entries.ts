// What the kernel must hold for each peer, and the difference to what it holds. Pure.
// Guarantees: only entries of the overlay are ever told apart, so that nothing of anybody else is changed.
import { contains, type Family, parseCidr } from '../../api/ip.js';
import type { Neighbour, Route } from '../../kernel/route/objects.js';
import type { NeighbourRequest, Request, RouteRequest } from '../../kernel/route/port.js';
import type { Backend, Peer } from './peer.js';

/** Which daemon made a route, as `ip route` shows it: 84, the T of Trellis. */
export const ROUTE_PROTOCOL = 84;

/** One family's half of the overlay on this node. */
export interface Side {
  readonly family: Family;
  readonly backend: Backend;
  /** The VXLAN device, or with host-gw the link between the nodes. */
  readonly device: string;
  /** Ranges of all pods of the cluster: another cluster on this machine has others. */
  readonly clusterCidrs: readonly string[];
}

type Entry = RouteRequest | NeighbourRequest;

/** By key, so that two entries of one key are one entry of the kernel. */
export type Entries = ReadonlyMap<string, Entry>;

export function entriesFor(peers: readonly Peer[], side: Side): Entries {
  const entries = peers.flatMap((peer) =>
    side.backend === 'vxlan' ? tunnelled(peer, side.device) : direct(peer, side.device),
  );
  return new Map(entries.map((entry) => [keyOf(entry), entry]));
}

/** The peer's network address stands for its VXLAN device: never a pod's, and known to both sides without asking. */
function tunnelled({ podCidr, underlay, mac = '' }: Peer, dev: string): Entry[] {
  const gateway = networkAddress(podCidr);
  const permanent = { do: 'replace', kind: 'neighbour', dev, mac, state: 'permanent' } as const;
  return [
    { ...permanent, family: 'bridge', address: underlay, flags: ['self'] },
    { ...permanent, address: gateway },
    route(podCidr, gateway, dev, true),
  ];
}

const direct = ({ podCidr, underlay }: Peer, dev: string): Entry[] => [route(podCidr, underlay, dev, false)];

function route(destination: string, gateway: string, dev: string, onlink: boolean): RouteRequest {
  return {
    ...({ do: 'replace', kind: 'route', destination, gateway, dev, protocol: ROUTE_PROTOCOL } as const),
    ...(onlink ? { onlink } : {}),
  };
}

/** What the kernel holds of the overlay, in the form in which it is asked for. */
export function entriesFound(
  side: Side,
  found: { readonly routes: readonly Route[]; readonly neighbours: readonly Neighbour[] },
): Entries {
  const family = side.family === 'IPv4' ? 'inet' : 'inet6';
  const routes = found.routes
    .filter((it) => it.family === family && isOverlayRoute(it, side.clusterCidrs))
    .map((it) => route(it.destination, it.gateway ?? '', side.device, it.onlink ?? false));
  // The device is ours alone; on any other link a neighbour is not.
  const neighbours = side.backend === 'vxlan' ? found.neighbours : [];
  const fixed = neighbours
    .filter(({ state }) => state === 'permanent')
    .map((it) => asRequest(it, side.device));
  return new Map([...fixed, ...routes].map((entry) => [keyOf(entry), entry]));
}

export function isOverlayRoute({ protocol, destination }: Route, clusterCidrs: readonly string[]): boolean {
  if (protocol !== ROUTE_PROTOCOL) return false;
  const first = networkAddress(destination);
  return clusterCidrs.some((cidr) => {
    const range = parseCidr(cidr);
    return range !== undefined && contains(range, first);
  });
}

function asRequest({ family, address = '', mac = '' }: Neighbour, dev: string): NeighbourRequest {
  const fields = { do: 'replace', kind: 'neighbour', dev, mac, address, state: 'permanent' } as const;
  return family === 'bridge' ? { ...fields, family, flags: ['self'] } : fields;
}

/** What is no longer wanted goes first: a new peer may have been given the range of an old one. */
export function difference(wanted: Entries, there: Entries): Request[] {
  const gone = [...there].filter(([key]) => !wanted.has(key)).map(([, entry]) => withdrawal(entry));
  const fresh = [...wanted].filter(([key, entry]) => contentOf(there.get(key)) !== contentOf(entry));
  return [...gone, ...fresh.map(([, entry]) => entry)];
}

const withdrawal = (entry: Entry): Request => ({ ...entry, do: 'delete', missingOk: true });

export function keyOf(entry: Entry): string {
  if (entry.kind === 'route') return `route ${entry.destination}`;
  return entry.family === 'bridge' ? `forward ${entry.mac} ${entry.address}` : `neighbour ${entry.address}`;
}

function contentOf(entry: Entry | undefined): string | undefined {
  if (entry === undefined) return undefined;
  return entry.kind === 'route' ? `${entry.gateway} ${entry.onlink ?? false}` : `${entry.mac}`;
}

/** It stands for the node's own VXLAN device. */
export const networkAddress = (cidr: string): string => cidr.slice(0, cidr.indexOf('/'));

/** What VXLAN takes of a packet: the outer IP header and 30 bytes of Ethernet, UDP and VXLAN. */
export function overlayMtu(
  backend: Backend,
  underlay: { readonly mtu: number; readonly family: Family },
): number {
  if (backend === 'host-gw') return underlay.mtu;
  return underlay.mtu - 30 - (underlay.family === 'IPv4' ? 20 : 40);
}
