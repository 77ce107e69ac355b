// The constant number of rules beside IPVS: who is masqueraded, who is kept out. Pure.
// Guarantees: rules are spelled as iptables-save prints them; none depends on the services, for those are in the sets.

import { isEverywhere } from '../../iptables/spelling.js';
import type { Ownership, PerTable } from '../../iptables/tables.js';
import { type IpFamily, type LocalDetector, masqueradeMark, type TrafficOptions } from '../../mode.js';
import * as names from '../names.js';
import { SETS, type SetKind, setName } from '../names.js';

const NEW = '-m conntrack --ctstate NEW ';
const jump = (chain: string, to: string, comment: string, match = '') =>
  `${chain} ${match}-m comment --comment "${comment}" -j ${to}`;

export const OWNED: Ownership = {
  chains: {
    filter: [
      names.FORWARD,
      names.NODE_PORT,
      names.PROXY_FIREWALL,
      names.SOURCE_RANGES,
      names.FILTER,
      names.OUT_FILTER,
      names.CLUSTER_IPS,
    ],
    nat: [names.SERVICES, names.NODE_PORT, names.LOAD_BALANCER, names.POSTROUTING, names.MARK_MASQ],
    mangle: [names.OUT_FILTER],
  },
  jumps: {
    filter: [
      jump('INPUT', names.FILTER, 'kubernetes ipvs access filter'),
      jump('INPUT', names.NODE_PORT, 'kubernetes health check rules'),
      jump('INPUT', names.PROXY_FIREWALL, 'kube-proxy firewall rules'),
      // kube-proxy's own, whose rules must not outlive it; ours are in mangle.
      jump('OUTPUT', names.OUT_FILTER, 'kubernetes ipvs access filter'),
      ...['FORWARD', 'OUTPUT'].map((chain) => jump(chain, names.CLUSTER_IPS, 'unallocated cluster IPs', NEW)),
      jump('FORWARD', names.PROXY_FIREWALL, 'kube-proxy firewall rules'),
      jump('FORWARD', names.FORWARD, 'kubernetes forwarding rules'),
    ],
    nat: [
      jump('PREROUTING', names.SERVICES, 'kubernetes service portals'),
      jump('OUTPUT', names.SERVICES, 'kubernetes service portals'),
      jump('POSTROUTING', names.POSTROUTING, 'kubernetes postrouting rules'),
    ],
    mangle: [jump('OUTPUT', names.OUT_FILTER, 'kubernetes ipvs access filter')],
  },
  isServiceChain: () => false,
};

export function baseRules(family: IpFamily, options: TrafficOptions): PerTable<string[]> {
  const mark = `0x${masqueradeMark(options).toString(16)}`;
  const set: SetMatch = (kind, directions) => `-m set --match-set ${setName(family, kind)} ${directions}`;
  return {
    filter: filterRules(family, options, { mark, set }),
    // IPVS takes the node's own packets between mangle and filter.
    mangle: [
      `-A ${names.OUT_FILTER} ${set('LOAD-BALANCER-SOURCE-CIDR', 'dst,dst,src')} -j RETURN`,
      `-A ${names.OUT_FILTER} ${set('LOAD-BALANCER-FW', 'dst,dst')} -j DROP`,
    ],
    nat: natRules(options, { mark, set }),
  };
}

type SetMatch = (kind: SetKind, directions: string) => string;

/** How rules of this family match. */
interface Matches {
  readonly mark: string;
  readonly set: SetMatch;
}

const about = (kind: SetKind) => `-m comment --comment "${SETS[kind][1]}"`;
const MASQ = `-j ${names.MARK_MASQ}`;

function filterRules(family: IpFamily, options: TrafficOptions, { mark, set }: Matches): string[] {
  return [
    `-A ${names.FORWARD} -m comment --comment "kubernetes forwarding rules" -m mark --mark ${mark}/${mark} -j ACCEPT`,
    `-A ${names.FORWARD} -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
    `-A ${names.PROXY_FIREWALL} ${about('LOAD-BALANCER-FW')} ${set('LOAD-BALANCER-FW', 'dst,dst')} -j ${names.SOURCE_RANGES}`,
    `-A ${names.SOURCE_RANGES} ${about('LOAD-BALANCER-SOURCE-CIDR')} ${set('LOAD-BALANCER-SOURCE-CIDR', 'dst,dst,src')} -j RETURN`,
    `-A ${names.SOURCE_RANGES} -j DROP`,
    `-A ${names.NODE_PORT} ${about('HEALTH-CHECK-NODE-PORT')} ${set('HEALTH-CHECK-NODE-PORT', 'dst')} -j ACCEPT`,
    // Somebody serves, but not on this node, where policy Local keeps it.
    `-A ${names.FILTER} ${NEW}${set('NO-LOCAL-CLUSTER-IP', 'dst,dst')} -j DROP`,
    ...notFromPods(options.local).map(
      (others) => `-A ${names.FILTER} ${others}${NEW}${set('NO-LOCAL-EXTERNAL', 'dst,dst')} -j DROP`,
    ),
    // Service addresses are the node's own: without this its daemons would answer on them.
    ...(['LOAD-BALANCER', 'CLUSTER-IP', 'EXTERNAL-IP', 'EXTERNAL-IP-LOCAL'] as const).map(
      (kind) => `-A ${names.FILTER} ${set(kind, 'dst,dst')} -j RETURN`,
    ),
    // The proxy itself answers there, on every address.
    `-A ${names.FILTER} ${set('HEALTH-CHECK-NODE-PORT', 'dst')} -j RETURN`,
    `-A ${names.FILTER} ${NEW}${set('IPVS-IPS', 'dst')} -j REJECT --reject-with ${family === 'ip' ? 'icmp-port-unreachable' : 'icmp6-port-unreachable'}`,
    // Also the node's own packets come by: those to a port that a service has not are refused on their way in.
    ...(options.serviceCidrs ?? []).map(
      (cidr) =>
        `-A ${names.CLUSTER_IPS} -d ${cidr} -m set ! --match-set ${setName(family, 'IPVS-IPS')} dst -j DROP`,
    ),
  ];
}

function natRules(options: TrafficOptions, { mark, set }: Matches): string[] {
  const outside = '-m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL';
  // The node's own packets to a service leave with the service's address, which only this node would answer.
  const ownSource = '-m addrtype --src-type LOCAL';
  return [
    `-A ${names.SERVICES} ${about('LOAD-BALANCER')} ${set('LOAD-BALANCER', 'dst,dst')} -j ${names.LOAD_BALANCER}`,
    ...clusterMasquerade(options, about('CLUSTER-IP'), (directions) => set('CLUSTER-IP', directions)),
    `-A ${names.SERVICES} ${about('EXTERNAL-IP')} ${set('EXTERNAL-IP', 'dst,dst')} ${MASQ}`,
    `-A ${names.SERVICES} ${about('EXTERNAL-IP-LOCAL')} ${set('EXTERNAL-IP-LOCAL', 'dst,dst')} ${ownSource} ${MASQ}`,
    ...(['EXTERNAL-IP', 'EXTERNAL-IP-LOCAL'] as const).flatMap((kind) => [
      `-A ${names.SERVICES} ${about(kind)} ${set(kind, 'dst,dst')} ${outside} -j ACCEPT`,
      `-A ${names.SERVICES} ${about(kind)} ${set(kind, 'dst,dst')} -m addrtype --dst-type LOCAL -j ACCEPT`,
    ]),
    `-A ${names.SERVICES} -m addrtype --dst-type LOCAL -j ${names.NODE_PORT}`,
    ...(['CLUSTER-IP', 'LOAD-BALANCER'] as const).map(
      (kind) => `-A ${names.SERVICES} ${set(kind, 'dst,dst')} -j ACCEPT`,
    ),
    ...nodePortRules(set),
    `-A ${names.NODE_PORT} -p sctp ${about('NODE-PORT-LOCAL-SCTP-HASH')} ${set('NODE-PORT-LOCAL-SCTP-HASH', 'dst,dst')} -j RETURN`,
    `-A ${names.NODE_PORT} -p sctp ${about('NODE-PORT-SCTP-HASH')} ${set('NODE-PORT-SCTP-HASH', 'dst,dst')} ${MASQ}`,
    `-A ${names.LOAD_BALANCER} ${about('LOAD-BALANCER-LOCAL')} ${set('LOAD-BALANCER-LOCAL', 'dst,dst')} ${ownSource} ${MASQ}`,
    `-A ${names.LOAD_BALANCER} ${about('LOAD-BALANCER-LOCAL')} ${set('LOAD-BALANCER-LOCAL', 'dst,dst')} -j RETURN`,
    `-A ${names.LOAD_BALANCER} ${MASQ}`,
    `-A ${names.POSTROUTING} ${about('LOOP-BACK')} ${set('LOOP-BACK', 'dst,dst,src')} -j MASQUERADE`,
    `-A ${names.POSTROUTING} -m mark ! --mark ${mark}/${mark} -j RETURN`,
    `-A ${names.POSTROUTING} -j MARK --set-xmark ${mark}/0x0`,
    `-A ${names.POSTROUTING} -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully`,
    `-A ${names.MARK_MASQ} -j MARK --set-xmark ${mark}/${mark}`,
  ];
}

const nodePortRules = (set: SetMatch): string[] =>
  (['TCP', 'UDP'] as const).flatMap((protocol) => {
    const p = `-A ${names.NODE_PORT} -p ${protocol.toLowerCase()}`;
    const [local, all] = [`NODE-PORT-LOCAL-${protocol}`, `NODE-PORT-${protocol}`] as const;
    return [
      `${p} ${about(local)} ${set(local, 'dst')} -j RETURN`,
      `${p} ${about(all)} ${set(all, 'dst')} ${MASQ}`,
    ];
  });

/** The node's own packets to a service leave with the service's address: they, at least, need another. */
function clusterMasquerade(
  { masqueradeAll, local }: TrafficOptions,
  about: string,
  set: (directions: string) => string,
): string[] {
  const start = `-A ${names.SERVICES}`;
  const end = `-j ${names.MARK_MASQ}`;
  if (masqueradeAll === true) return [`${start} ${about} ${set('dst,dst')} ${end}`];
  if (local === undefined) return [`${start} ${about} ${set('src,dst')} ${end}`];
  return notFromPods(local).map((others) => `${start} ${others}${about} ${set('dst,dst')} ${end}`);
}

/** A match of everything where there is no way to tell; none where all is a pod's. */
function notFromPods(local: LocalDetector | undefined): string[] {
  if (local === undefined) return [''];
  if (local.by === 'cidr') return isEverywhere(local.cidr) ? [] : [`! -s ${local.cidr} `];
  return [`! -i ${local.by === 'interface' ? local.name : `${local.prefix}+`} `];
}
