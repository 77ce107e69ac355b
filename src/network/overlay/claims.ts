// Checks the annotations of nodes about the overlay: what a node states is not enough to get a route. Pure.
// Guarantees: a range outside the cluster's, over the services', over ours or over that of an older node is refused, and so
// are addresses and devices that another node or nobody can have; a refusal says why.
import { endpointIpFaults } from '../../api/endpointIp.js';
import type { V1Node } from '../../api/gen/types.js';
import { type Cidr, contains, overlaps, parseCidr } from '../../api/ip.js';
import type { Stored } from '../../api/object.js';
import type { Peer } from './peer.js';

export interface Claim {
  readonly node: Stored<V1Node>;
  readonly peer: Peer;
}

export interface Ground {
  /** This node's own range and address: nobody else's. */
  readonly own: Pick<Peer, 'podCidr' | 'underlay'>;
  readonly clusterCidrs: readonly string[];
  readonly serviceCidrs: readonly string[];
}

interface Judged {
  readonly peers: readonly Peer[];
  /** By the node's name. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Of two that claim the same, the node that was there first is believed. */
export function judgeClaims(claims: readonly Claim[], ground: Ground): Judged {
  const peers: Peer[] = [];
  const refused = new Map<string, string>();
  for (const { peer } of [...claims].sort(byAge)) {
    const why = fault(peer, peers, ground);
    if (why === undefined) peers.push(peer);
    else refused.set(peer.node, why);
  }
  return { peers, refused };
}

function fault(peer: Peer, believed: readonly Peer[], ground: Ground): string | undefined {
  const { podCidr, underlay, mac } = peer;
  const range = parseCidr(podCidr);
  if (range === undefined) return `its range ${podCidr} is no network`;
  if (!parsed(ground.clusterCidrs).some((all) => isWithin(range, all)))
    return `its range ${podCidr} is not within the cluster's, ${ground.clusterCidrs.join(',')}`;
  const service = parsed(ground.serviceCidrs).find((services) => overlap(range, services));
  if (service !== undefined) return `its range ${podCidr} overlaps that of the services`;
  if (overlap(range, parseCidr(ground.own.podCidr))) return `its range ${podCidr} overlaps ours`;
  const [special] = endpointIpFaults(underlay);
  if (special !== undefined) return `its address ${underlay} ${special}`;
  if (parsed([...ground.clusterCidrs, ...ground.serviceCidrs]).some((all) => contains(all, underlay)))
    return `its address ${underlay} is one of pods or services`;
  if (underlay === ground.own.underlay) return `its address ${underlay} is ours`;
  for (const other of believed) {
    if (overlap(range, parseCidr(other.podCidr)))
      return `its range ${podCidr} overlaps that of node ${other.node}`;
    if (underlay === other.underlay) return `its address ${underlay} is that of node ${other.node}`;
    if (mac !== undefined && mac === other.mac) return `its VtepMAC ${mac} is that of node ${other.node}`;
  }
  return undefined;
}

const byAge = (left: Claim, right: Claim): number => (ageOf(left) < ageOf(right) ? -1 : 1);
/** Times of the API sort as text; the name decides between equals. */
const ageOf = ({ node: { metadata } }: Claim) => `${metadata.creationTimestamp ?? ''} ${metadata.name}`;

const parsed = (networks: readonly string[]): Cidr[] =>
  networks.map(parseCidr).filter((network) => network !== undefined);

const bits = ({ family }: Cidr): number => (family === 'IPv4' ? 32 : 128);
const isWithin = (inner: Cidr, outer: Cidr): boolean =>
  inner.family === outer.family &&
  inner.prefix >= outer.prefix &&
  inner.base >> BigInt(bits(outer) - outer.prefix) === outer.base >> BigInt(bits(outer) - outer.prefix);
const overlap = (one: Cidr, other: Cidr | undefined): boolean => other !== undefined && overlaps(one, other);
