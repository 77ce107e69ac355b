// Reads the protocols of a rule of a ClusterNetworkPolicy. Pure.
// Guarantees: what cannot be read is told, and never read as "every port".
import type { PolicyProtocol, PortMatch } from './model.js';

interface DestinationPort {
  readonly destinationPort?: {
    readonly number?: number;
    /** Both included. */
    readonly range?: { readonly start: number; readonly end: number };
  };
}

export interface ClusterNetworkProtocol {
  readonly tcp?: DestinationPort;
  readonly udp?: DestinationPort;
  readonly sctp?: DestinationPort;
  /** Of any protocol: what a container of the pod that is connected to calls by this name. */
  readonly destinationNamedPort?: string;
}

const PROTOCOLS: readonly PolicyProtocol[] = ['tcp', 'udp', 'sctp'];
const LAST_PORT = 65_535;
const isPort = (port: number | undefined): port is number =>
  port !== undefined && Number.isInteger(port) && port >= 1 && port <= LAST_PORT;

export function clusterPorts(match: ClusterNetworkProtocol, problems: string[]): PortMatch[] {
  const name = match.destinationNamedPort;
  const known = PROTOCOLS.find((protocol) => match[protocol] !== undefined);
  if (Object.keys(match).length === 1) {
    if (name) return PROTOCOLS.map((protocol) => ({ protocol, name }));
    if (known !== undefined) return numbered(known, match[known] ?? {}, problems);
  }
  problems.push(`protocols ${JSON.stringify(match)} cannot be read`);
  return [];
}

function numbered(
  protocol: PolicyProtocol,
  { destinationPort }: DestinationPort,
  problems: string[],
): PortMatch[] {
  const { number, range } = destinationPort ?? {};
  if (isPort(number) && range === undefined) return [{ protocol, port: number }];
  if (number === undefined && isPort(range?.start) && isPort(range.end) && range.start <= range.end)
    return [{ protocol, port: range.start, endPort: range.end }];
  problems.push(`destination port ${JSON.stringify(destinationPort)} of ${protocol} cannot be read`);
  return [];
}
