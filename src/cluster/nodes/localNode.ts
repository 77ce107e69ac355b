// The nodes that a cluster has on this machine beside the machine itself, by name, place and address. Pure.
// Guarantees: a node is the same at every start: its name and address come of its number, all else of its directory.
import path from 'node:path';
import { addressAt, bitsOf, type Cidr, parseCidr } from '../../api/ip.js';
import { ClusterError } from '../error.js';
import { type Layout, layoutOf } from '../layout.js';
import { rangesOf, type Settings } from '../settings.js';

type Addresses = readonly [string, ...string[]];

export interface LocalNode {
  readonly name: string;
  /** Its addresses on the underlay, one a family of the cluster. */
  readonly addresses: Addresses;
  /** Names inside of the node, where /run is its own; the data and log directories are also the host's. */
  readonly layout: Layout;
  /** The file that pins its network namespace. */
  readonly netns: string;
}

/** The second node and on: the first is the machine itself. */
export function localNodes(layout: Layout, settings: Settings): LocalNode[] {
  const numbers = Array.from({ length: settings.nodes - 1 }, (_, at) => at + 2);
  return numbers.map((number) => {
    const name = `${settings.nodeName}-${number}`;
    return { ...placeOf(layout, name), addresses: underlayAddresses(settings, number) };
  });
}

/** What can be known of a node by its name alone. */
export const placeOf = (layout: Layout, name: string): Omit<LocalNode, 'addresses'> => ({
  name,
  layout: layoutOf(path.join(layout.nodesDir, name)),
  netns: path.join(layout.netnsDir, name),
});

type Underlay = Pick<Settings, 'clusterCidr' | 'underlayCidr'>;

/** The machine is number 1. */
export function underlayAddresses(settings: Underlay, number: number): Addresses {
  const [first, ...rest] = underlayRanges(settings);
  return [addressAt(first, number), ...rest.map((range) => addressAt(range, number))];
}

/** One for each family of the cluster, in its order. */
export function underlayRanges({ clusterCidr, underlayCidr }: Underlay): [Cidr, ...Cidr[]] {
  const families = rangesOf(clusterCidr).map((range) => parseCidr(range)?.family);
  const [first, ...rest] = rangesOf(underlayCidr).map(parseCidr);
  const isWhole = (range: Cidr | undefined): range is Cidr =>
    range !== undefined && range.prefix <= bitsOf(range.family) - 2;
  const given = [first, ...rest].map((range) => range?.family);
  if (isWhole(first) && rest.every(isWhole) && given.join() === families.join()) return [first, ...rest];
  throw new ClusterError(
    'BAD_OPTION',
    `--underlay-cidr: pods have ${clusterCidr}, so "${underlayCidr}" must be a network of ${families.join(' and one of ')}, such as ${EXAMPLE}`,
  );
}

const EXAMPLE = '172.30.0.0/24 or fd00:10:30::/64';

/** Refused before anything is made. */
export function requireRoom(settings: Underlay & Pick<Settings, 'nodes'>): void {
  const { nodes, underlayCidr } = settings;
  const free = underlayRanges(settings).map(({ family, prefix }) => 2 ** (bitsOf(family) - prefix) - 2);
  const room = Math.min(...free);
  if (nodes > room)
    throw new ClusterError('BAD_OPTION', `${underlayCidr} has room for ${room} nodes, not for ${nodes}`);
}
