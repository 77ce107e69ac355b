// The chains of this mode, the jumps to them, and what becomes of the range of services besides. Pure.
// Guarantees: rules are spelled as iptables-save prints them.

import { rejection } from '../../iptables/plan/service.js';
import type { Ownership } from '../../iptables/tables.js';
import type { ServicePort, TrafficOptions } from '../../mode.js';
import * as names from '../names.js';

const portals = 'handle ClusterIPs; NOTE: this must be before the NodePort rules';
const nodePorts = 'handle service NodePorts; NOTE: this must be the last rule in the chain';
const jump = (chain: string, to: string, comment: string, match = '') =>
  `${chain} ${match}-m comment --comment "${comment}" -j ${to}`;
const LOCAL = '-m addrtype --dst-type LOCAL ';

export const OWNED: Ownership = {
  chains: {
    filter: [names.CLUSTER_IPS],
    nat: [names.PORTALS_CONTAINER, names.PORTALS_HOST, names.NODEPORT_CONTAINER, names.NODEPORT_HOST],
    mangle: [],
  },
  jumps: {
    filter: ['FORWARD', 'OUTPUT'].map((chain) =>
      jump(chain, names.CLUSTER_IPS, 'unallocated cluster IPs', '-m conntrack --ctstate NEW '),
    ),
    nat: [
      jump('PREROUTING', names.PORTALS_CONTAINER, portals),
      jump('OUTPUT', names.PORTALS_HOST, portals),
      jump('PREROUTING', names.NODEPORT_CONTAINER, nodePorts, LOCAL),
      jump('OUTPUT', names.NODEPORT_HOST, nodePorts, LOCAL),
    ],
    mangle: [],
  },
  isServiceChain: () => false,
};

/** What was sent to a service is redirected by now: the rest is ports that a service has not, and addresses of nobody. */
export function rangeRules(ports: readonly ServicePort[], { serviceCidrs = [] }: TrafficOptions): string[] {
  if (serviceCidrs.length === 0) return [];
  const services = new Map(ports.map(({ clusterIp, family }) => [clusterIp, family]));
  return [
    ...[...services].map(
      ([ip, family]) => `-A ${names.CLUSTER_IPS} -d ${ip}/${family === 'ip' ? 32 : 128} ${rejection(family)}`,
    ),
    ...serviceCidrs.map((cidr) => `-A ${names.CLUSTER_IPS} -d ${cidr} -j DROP`),
  ];
}
