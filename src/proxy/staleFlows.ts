// Which UDP flows must end: those that conntrack would keep sending to an endpoint that is no longer theirs. Pure.
// Guarantees: a flow that still goes to an endpoint of its service is never named, so that QUIC survives a restart.
import type { Flow, FlowFamily, FlowFilter } from '../kernel/conntrack/port.js';
import { type Endpoint, outsideIps, type ProxyState, type ServicePort } from './state.js';

/** What a change of one UDP port makes stale, as filters for one pass over the flows. */
export function staleAfter(before: ServicePort | undefined, after: ServicePort | undefined): FlowFilter[] {
  const old = before?.protocol === 'udp' ? before : undefined;
  const now = after?.protocol === 'udp' ? after : undefined;
  const kept = new Set(now === undefined ? [] : reachable(now).map(placeOf));
  const gone = old === undefined ? [] : reachable(old).filter((endpoint) => !kept.has(placeOf(endpoint)));
  const toGone = (old === undefined ? [] : destinations(old)).flatMap((destination) =>
    gone.map(({ ip, port }): FlowFilter => ({ ...destination, replySource: ip, replySourcePort: port })),
  );
  // What knocked while nobody answered was not translated, and would not be as long as the flow lives.
  const isFirst = now !== undefined && kept.size > 0 && (old === undefined || reachable(old).length === 0);
  const unanswered = isFirst
    ? destinations(now).flatMap((destination): FlowFilter[] =>
        destination.originalDestination === undefined
          ? [{ ...destination, replySourcePort: destination.originalDestinationPort }]
          : [{ ...destination, replySource: destination.originalDestination }],
      )
    : [];
  return [...toGone, ...unanswered];
}

/** Of all UDP flows, those that go to a service but to none of its endpoints; for the start, when nothing is remembered. */
export function staleOf(flows: readonly Flow[], state: ProxyState): FlowFilter[] {
  const allowed = new Map<string, Set<string>>();
  for (const port of state.values()) {
    if (port.protocol !== 'udp') continue;
    const places = new Set(reachable(port).map(placeOf));
    // A service without endpoints refuses by a rule; there is nothing to move its flows to.
    if (places.size === 0) continue;
    for (const { originalDestination: ip, originalDestinationPort } of destinations(port))
      allowed.set(`${ip ?? familyOf(port)} ${originalDestinationPort}`, places);
  }
  return flows.flatMap(({ family, protocol, original, reply }) => {
    if (protocol !== 'udp') return [];
    const wasTranslated =
      reply.source !== original.destination || reply.sourcePort !== original.destinationPort;
    const places =
      allowed.get(`${original.destination} ${original.destinationPort}`) ??
      (wasTranslated ? allowed.get(`${family} ${original.destinationPort}`) : undefined);
    if (places === undefined || places.has(`${reply.source} ${reply.sourcePort}`)) return [];
    return [
      {
        family,
        protocol,
        originalSource: original.source,
        originalDestination: original.destination,
        ...(original.sourcePort === undefined ? {} : { originalSourcePort: original.sourcePort }),
        ...(original.destinationPort === undefined
          ? {}
          : { originalDestinationPort: original.destinationPort }),
      },
    ];
  });
}

interface Destination extends FlowFilter {
  readonly originalDestinationPort: number;
}

/** Where clients send to; a node port has no address of its own. */
function destinations(port: ServicePort): Destination[] {
  const family = familyOf(port);
  const ips = new Set([port.clusterIp, ...outsideIps(port)]);
  return [
    ...[...ips].map((ip) => ({
      family,
      protocol: 'udp' as const,
      originalDestination: ip,
      originalDestinationPort: port.port,
    })),
    ...(port.nodePort === undefined
      ? []
      : [{ family, protocol: 'udp' as const, originalDestinationPort: port.nodePort }]),
  ];
}

const familyOf = ({ family }: ServicePort): FlowFamily => (family === 'ip' ? 'inet' : 'inet6');
const reachable = ({ endpoints, localEndpoints }: ServicePort) => [...endpoints, ...localEndpoints];
const placeOf = ({ ip, port }: Endpoint) => `${ip} ${port}`;
