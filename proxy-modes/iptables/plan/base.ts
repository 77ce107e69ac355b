// What the tables hold whatever the services are: chains, masquerading, forwarding, and the jumps to them. Pure.
// Guarantees: rules are spelled as iptables-save prints them.
import { masqueradeMark, type TrafficOptions } from '../../mode.js';
import * as names from '../names.js';
import { inNetwork } from '../spelling.js';
import type { Ownership, PerTable, Table } from '../tables.js';

/** The chains of each table that are there whatever the services are. */
const CHAINS: PerTable<readonly string[]> = {
  filter: [
    names.SERVICES,
    names.EXTERNAL_SERVICES,
    names.FORWARD,
    names.NODE_PORTS,
    names.PROXY_FIREWALL,
    names.CLUSTER_IPS,
  ],
  nat: [names.SERVICES, names.NODE_PORTS, names.POSTROUTING, names.MARK_MASQ],
  mangle: [names.CANARY],
};

const NEW = '-m conntrack --ctstate NEW ';
const jump = (chain: string, to: string, comment: string, match = '') =>
  `${chain} ${match}-m comment --comment "${comment}" -j ${to}`;

/** Jumps from the built-in chains, without their command; the first comes first in its chain. */
const JUMPS: PerTable<readonly string[]> = {
  filter: [
    ...['INPUT', 'FORWARD', 'OUTPUT'].map((chain) =>
      jump(chain, names.PROXY_FIREWALL, 'kubernetes load balancer firewall', NEW),
    ),
    jump('INPUT', names.NODE_PORTS, 'kubernetes health check service ports'),
    // OUTPUT is ours: the node, too, is told at once that nobody serves.
    ...['INPUT', 'FORWARD', 'OUTPUT'].map((chain) =>
      jump(chain, names.EXTERNAL_SERVICES, 'kubernetes externally-visible service portals', NEW),
    ),
    jump('FORWARD', names.FORWARD, 'kubernetes forwarding rules'),
    ...['FORWARD', 'OUTPUT'].map((chain) => jump(chain, names.SERVICES, 'kubernetes service portals', NEW)),
  ],
  nat: [
    jump('PREROUTING', names.SERVICES, 'kubernetes service portals'),
    jump('OUTPUT', names.SERVICES, 'kubernetes service portals'),
    jump('POSTROUTING', names.POSTROUTING, 'kubernetes postrouting rules'),
  ],
  mangle: [],
};

export const OWNED: Ownership = { chains: CHAINS, jumps: JUMPS, isServiceChain: names.isServiceChain };

export function baseRules(
  table: Table,
  options: TrafficOptions & { readonly family: 'ip' | 'ip6' },
): string[] {
  const mark = `0x${masqueradeMark(options).toString(16)}`;
  if (table === 'filter')
    return [
      `-A ${names.FORWARD} -m conntrack --ctstate INVALID -j DROP`,
      `-A ${names.FORWARD} -m comment --comment "kubernetes forwarding rules" -m mark --mark ${mark}/${mark} -j ACCEPT`,
      `-A ${names.FORWARD} -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
      ...(options.localhostNodePorts === true && options.family === 'ip' ? martians() : []),
      ...unallocated(options),
    ];
  if (table === 'mangle') return [];
  return [
    `-A ${names.POSTROUTING} -m mark ! --mark ${mark}/${mark} -j RETURN`,
    // The mark is taken off again: the packet may be encapsulated and pass here once more.
    `-A ${names.POSTROUTING} -j MARK --set-xmark ${mark}/0x0`,
    `-A ${names.POSTROUTING} -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully`,
    `-A ${names.MARK_MASQ} -j MARK --set-xmark ${mark}/${mark}`,
    ...nodePortJumps(options),
  ];
}

/**
 * Node ports on loopback need route_localnet, with which the kernel takes packets to 127.0.0.1 from the network too: only
 * what a rule sent there may come in.
 */
function martians(): string[] {
  const incoming = `-A ${names.PROXY_FIREWALL} ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections"`;
  return [`${incoming} -m conntrack --ctstate DNAT -j RETURN`, `${incoming} -j DROP`];
}

/** What was sent to a service has another destination by now. Last in their chains: rules of services come before. */
function unallocated({ serviceCidrs = [] }: TrafficOptions): string[] {
  if (serviceCidrs.length === 0) return [];
  return [
    ...serviceCidrs.map((cidr) => `-A ${names.SERVICES} -d ${cidr} -j ${names.CLUSTER_IPS}`),
    `-A ${names.CLUSTER_IPS} -m comment --comment "unallocated cluster IPs" -j DROP`,
  ];
}

const LAST = 'kubernetes service nodeports; NOTE: this must be the last rule in this chain';

function nodePortJumps({
  nodePortCidrs,
  localhostNodePorts,
  family,
}: TrafficOptions & { readonly family: 'ip' | 'ip6' }) {
  const comment = `-m comment --comment "${LAST}"`;
  const to = `-m addrtype --dst-type LOCAL -j ${names.NODE_PORTS}`;
  if (nodePortCidrs !== undefined)
    return nodePortCidrs.map((cidr) => `-A ${names.SERVICES} ${inNetwork('-d', cidr)}${comment} ${to}`);
  // Packets to loopback leave it only with route_localnet, and never with IPv6.
  const loopback =
    family === 'ip6' ? '! -d ::1/128 ' : localhostNodePorts === true ? '' : '! -d 127.0.0.0/8 ';
  return [`-A ${names.SERVICES} ${loopback}${comment} ${to}`];
}
