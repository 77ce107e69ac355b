// The rules of one port of a service: its packets go to the socket that relays for it. Pure.
import type { ServicePort } from '../../../src/proxy/state.js';
import * as names from '../names.js';

/** `relayPort` is where the relay of that port listens. */
export function planService(port: ServicePort, relayPort: number): string[] {
  const { protocol, name, nodePort } = port;
  const comment = `-m comment --comment "${name}"`;
  const redirect = `-j REDIRECT --to-ports ${relayPort}`;
  const ips = new Set([port.clusterIp, ...port.externalIps, ...port.loadBalancerIps]);
  const bits = port.family === 'ip' ? 32 : 128;
  return [
    ...[...ips].flatMap((ip) =>
      [names.PORTALS_CONTAINER, names.PORTALS_HOST].map(
        (chain) =>
          `-A ${chain} -d ${ip}/${bits} -p ${protocol} ${comment} -m ${protocol} --dport ${port.port} ${redirect}`,
      ),
    ),
    ...(nodePort === undefined
      ? []
      : [names.NODEPORT_CONTAINER, names.NODEPORT_HOST].map(
          (chain) => `-A ${chain} -p ${protocol} ${comment} -m ${protocol} --dport ${nodePort} ${redirect}`,
        )),
  ];
}
