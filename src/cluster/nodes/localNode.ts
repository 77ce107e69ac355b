// The nodes that a cluster has on this machine beside the machine itself, by name, place and address. Pure.
// Guarantees: a node is the same at every start: its name and address come of its number, all else of its directory.
import path from 'node:path';
import { addressAt, type Cidr, cidrSize, parseCidr } from '../../api/ip.js';
import { ClusterError } from '../error.js';
import { type Layout, layoutOf } from '../layout.js';
import type { Settings } from '../settings.js';

export interface LocalNode {
  readonly name: string;
  /** Its address on the underlay. */
  readonly address: string;
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
    return { ...placeOf(layout, name), address: underlayAddress(settings, number) };
  });
}

/** What can be known of a node by its name alone. */
export const placeOf = (layout: Layout, name: string): Omit<LocalNode, 'address'> => ({
  name,
  layout: layoutOf(path.join(layout.nodesDir, name)),
  netns: path.join(layout.netnsDir, name),
});

/** The machine is number 1. */
export const underlayAddress = ({ underlayCidr }: Pick<Settings, 'underlayCidr'>, number: number): string =>
  addressAt(underlayRange(underlayCidr), number);

function underlayRange(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr?.family === 'IPv4' && cidr.prefix <= 30) return cidr;
  throw new ClusterError('BAD_OPTION', `--underlay-cidr: "${text}" is no IPv4 network such as 172.30.0.0/24`);
}

/** Refused before anything is made. */
export function requireRoom({ nodes, underlayCidr }: Settings): void {
  const room = Number(cidrSize(underlayRange(underlayCidr))) - 2;
  if (nodes > room)
    throw new ClusterError('BAD_OPTION', `${underlayCidr} has room for ${room} nodes, not for ${nodes}`);
}
