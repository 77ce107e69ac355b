// Which UDP flows must end: those that conntrack would keep sending elsewhere than their service does now. Pure.
// Guarantees: a flow to an endpoint that still serves is never named, whatever policy, topology or an ending pod say of new
// ones, so that QUIC survives restarts and rollouts; nor is one that passes through the node to somebody else.

import { type Endpoint, outsideIps, type ServicePort } from '../../proxy-modes/mode.js';
import { type Cidr, contains, parseCidr } from '../api/ip.js';
import type { Flow, FlowFamily, FlowFilter } from '../kernel/conntrack/port.js';

/** Whether flows may be stale after a port has become another: not if it only gained endpoints. */
export function mayLeaveStale(before: ServicePort | undefined, now: ServicePort | undefined): boolean {
  if (before === undefined || now === undefined) return true;
  const [had, has] = [places(before), places(now)];
  if (had.size === 0 || [...had].some((place) => !has.has(place))) return true;
  const knew = new Set(destinations(before).map(keyOf));
  const knows = destinations(now).map(keyOf);
  return knew.size !== knows.length || knows.some((key) => !knew.has(key));
}

/** The flows to everything that the ports are reached by. */
export const flowsTo = (ports: Iterable<ServicePort>): FlowFilter[] =>
  [...ports].flatMap((port) => destinations(port));

interface Judgement {
  /** Ports as they are. */
  readonly now: Iterable<ServicePort>;
  /** Ports as they were before. */
  readonly gone?: Iterable<ServicePort>;
  /** Ranges of services: what was sent on from one of their addresses was sent by a service. */
  readonly serviceCidrs?: readonly string[];
}

/** Of the flows, those to end. */
export function staleAmong(
  flows: readonly Flow[],
  { now, gone = [], serviceCidrs = [] }: Judgement,
): FlowFilter[] {
  const former = new Map<string, Set<string>>();
  for (const port of gone) for (const at of destinations(port)) former.set(keyOf(at), places(port));
  const current = new Map<string, Set<string>>();
  for (const port of now) for (const at of destinations(port)) current.set(keyOf(at), places(port));
  const ranges = serviceCidrs.flatMap((text) => parseCidr(text) ?? []);
  const known = { current, former, ranges };
  return flows.filter((flow) => flow.protocol === 'udp' && isStale(flow, known)).map(filterOf);
}

type PlacesByDestination = ReadonlyMap<string, ReadonlySet<string>>;

interface Known {
  readonly current: PlacesByDestination;
  readonly former: PlacesByDestination;
  readonly ranges: readonly Cidr[];
}

function isStale(flow: Flow, { current, former, ranges }: Known): boolean {
  const { family, original, reply } = flow;
  const port = original.destinationPort;
  const [own, any] = [`${original.destination} ${port}`, `${family} ${port}`];
  const goesTo = `${reply.source} ${reply.sourcePort}`;
  const isSent = reply.source !== original.destination || reply.sourcePort !== port;
  const serving = current.get(own) ?? current.get(any);
  // Nobody's any more: what it was sent to was an endpoint of the one it belonged to.
  if (serving === undefined)
    return (
      (former.get(own) ?? former.get(any))?.has(goesTo) === true ||
      (isSent && ranges.some((range) => contains(range, original.destination)))
    );
  if (serving.has(goesTo)) return false;
  if (isSent) return true;
  // What knocked while there was no rule is not sent anywhere as long as the flow lives.
  if (serving.size === 0) return false;
  // A node port has no address of its own: what leaves under another source passes through to somebody else.
  const isForwarded = reply.destination !== original.source || reply.destinationPort !== original.sourcePort;
  return current.has(own) || !isForwarded;
}

const filterOf = ({ family, protocol, original }: Flow): FlowFilter => ({
  family,
  protocol,
  originalSource: original.source,
  originalDestination: original.destination,
  ...(original.sourcePort === undefined ? {} : { originalSourcePort: original.sourcePort }),
  ...(original.destinationPort === undefined ? {} : { originalDestinationPort: original.destinationPort }),
});

interface Destination extends FlowFilter {
  readonly family: FlowFamily;
  readonly originalDestinationPort: number;
}

/** Where clients send to; a node port has no address of its own. */
function destinations(port: ServicePort): Destination[] {
  const shared = { family: port.family === 'ip' ? 'inet' : 'inet6', protocol: 'udp' } as const;
  const ips = new Set([port.clusterIp, ...outsideIps(port)]);
  return [
    ...[...ips].map((ip) => ({ ...shared, originalDestination: ip, originalDestinationPort: port.port })),
    ...(port.nodePort === undefined ? [] : [{ ...shared, originalDestinationPort: port.nodePort }]),
  ];
}

const keyOf = ({ family, originalDestination, originalDestinationPort }: Destination) =>
  `${originalDestination ?? family} ${originalDestinationPort}`;

/** Every endpoint that serves, also such as get no new traffic. */
const places = ({ endpoints, localEndpoints, lingering = [] }: ServicePort): Set<string> =>
  new Set([...endpoints, ...localEndpoints, ...lingering].map(placeOf));
const placeOf = ({ ip, port }: Endpoint) => `${ip} ${port}`;
