// The rules of one port of a service: its packets go to the socket that relays for it. Pure.
// Guarantees: clients outside the source ranges find no rule, and so nobody.
import { inNetwork } from '../../iptables/spelling.js';
import type { ServicePort, TrafficOptions } from '../../mode.js';
import { allowedSources } from '../../sources.js';
import * as names from '../names.js';

/** Where the relay of the port listens: for traffic that comes in, and for the node's own. */
interface RelayPorts {
  readonly port: number;
  readonly hostPort: number;
}

export function planService(
  port: ServicePort,
  relay: RelayPorts,
  options: Pick<TrafficOptions, 'nodePortCidrs' | 'nodeIps'> = {},
): string[] {
  const { protocol, name, nodePort, loadBalancerIps, sourceRanges } = port;
  const { nodePortCidrs } = options;
  const comment = `-m comment --comment "${name}"`;
  const bits = port.family === 'ip' ? 32 : 128;
  const to = ([container, host]: readonly [string, string], match: string, number: number) =>
    [[container, relay.port] as const, [host, relay.hostPort] as const].map(
      ([chain, relayPort]) =>
        `-A ${chain} ${match}-p ${protocol} ${comment} -m ${protocol} --dport ${number} -j REDIRECT --to-ports ${relayPort}`,
    );
  const portals = [names.PORTALS_CONTAINER, names.PORTALS_HOST] as const;
  const nodePorts = [names.NODEPORT_CONTAINER, names.NODEPORT_HOST] as const;
  const open = new Set([port.clusterIp, ...port.externalIps]);
  const guarded = new Set(loadBalancerIps.filter((ip) => !open.has(ip)));
  const sources =
    sourceRanges.length === 0 ? [''] : allowedSources(port, options).map((range) => inNetwork('-s', range));
  const networks = nodePortCidrs === undefined ? [''] : nodePortCidrs.map((cidr) => inNetwork('-d', cidr));
  return [
    ...[...open].flatMap((ip) => to(portals, `-d ${ip}/${bits} `, port.port)),
    ...[...guarded].flatMap((ip) =>
      sources.flatMap((source) => to(portals, `${source}-d ${ip}/${bits} `, port.port)),
    ),
    ...(nodePort === undefined ? [] : networks.flatMap((network) => to(nodePorts, network, nodePort))),
  ];
}
