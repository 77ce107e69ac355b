// The names of what this mode makes: the device, the sets, the chains. Pure.
// Guarantees: kube-proxy's own names; the sets of IPv6 are told apart by a 6.
import type { IpFamily } from '../mode.js';

/** Holds every service address, so that packets to them are for this machine and meet IPVS. */
export const DEVICE = 'kube-ipvs0';

export const SERVICES = 'KUBE-SERVICES';
export const NODE_PORT = 'KUBE-NODE-PORT';
export const LOAD_BALANCER = 'KUBE-LOAD-BALANCER';
export const POSTROUTING = 'KUBE-POSTROUTING';
export const MARK_MASQ = 'KUBE-MARK-MASQ';
export const FORWARD = 'KUBE-FORWARD';
export const PROXY_FIREWALL = 'KUBE-PROXY-FIREWALL';
export const SOURCE_RANGES = 'KUBE-SOURCE-RANGES-FIREWALL';
export const FILTER = 'KUBE-IPVS-FILTER';
export const OUT_FILTER = 'KUBE-IPVS-OUT-FILTER';
/** Our own, as in the iptables mode. */
export const CLUSTER_IPS = 'KUBE-CLUSTER-IPS';

/** Each set, its type, and what its entries are for, as kube-proxy comments them; those of NO-LOCAL are our own. */
export const SETS = {
  'LOOP-BACK': ['hash:ip,port,ip', 'Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose'],
  'CLUSTER-IP': ['hash:ip,port', 'Kubernetes service cluster ip + port for masquerade purpose'],
  'EXTERNAL-IP': ['hash:ip,port', 'Kubernetes service external ip + port for masquerade and filter purpose'],
  'EXTERNAL-IP-LOCAL': [
    'hash:ip,port',
    'Kubernetes service external ip + port with externalTrafficPolicy=local',
  ],
  'LOAD-BALANCER': ['hash:ip,port', 'Kubernetes service lb portal'],
  'LOAD-BALANCER-LOCAL': [
    'hash:ip,port',
    'Kubernetes service load balancer ip + port with externalTrafficPolicy=local',
  ],
  'LOAD-BALANCER-FW': [
    'hash:ip,port',
    'Kubernetes service load balancer ip + port for load balancer with sourceRange',
  ],
  'LOAD-BALANCER-SOURCE-CIDR': [
    'hash:ip,port,net',
    'Kubernetes service load balancer ip + port + source cidr for packet filter purpose',
  ],
  'NODE-PORT-TCP': ['bitmap:port', 'Kubernetes nodeport TCP port for masquerade purpose'],
  'NODE-PORT-LOCAL-TCP': ['bitmap:port', 'Kubernetes nodeport TCP port with externalTrafficPolicy=local'],
  'NODE-PORT-UDP': ['bitmap:port', 'Kubernetes nodeport UDP port for masquerade purpose'],
  'NODE-PORT-LOCAL-UDP': ['bitmap:port', 'Kubernetes nodeport UDP port with externalTrafficPolicy=local'],
  'NODE-PORT-SCTP-HASH': [
    'hash:ip,port',
    'Kubernetes nodeport SCTP port for masquerade purpose with type hash ip:port',
  ],
  'NODE-PORT-LOCAL-SCTP-HASH': [
    'hash:ip,port',
    'Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type hash ip:port',
  ],
  'HEALTH-CHECK-NODE-PORT': ['bitmap:port', 'Kubernetes health check node port'],
  'NO-LOCAL-CLUSTER-IP': [
    'hash:ip,port',
    'Kubernetes service cluster ip + port with internalTrafficPolicy=local and no local endpoint',
  ],
  'NO-LOCAL-EXTERNAL': [
    'hash:ip,port',
    'Kubernetes service outside ip + port with externalTrafficPolicy=local and no local endpoint',
  ],
  'IPVS-IPS': ['hash:ip', 'Kubernetes ipvs dummy interface ip addresses'],
} as const;
export type SetKind = keyof typeof SETS;
export const SET_KINDS = Object.keys(SETS) as SetKind[];

/** The kernel takes 31 bytes; kube-proxy, too, cuts what is longer. */
const LONGEST_NAME = 31;
export const setName = (family: IpFamily, kind: SetKind) =>
  `KUBE-${family === 'ip6' ? '6-' : ''}${kind}`.slice(0, LONGEST_NAME);
/** Beside a set that is made anew. */
export const newSetName = (family: IpFamily) => `KUBE-${family === 'ip6' ? '6-' : ''}NEW`;
/** kube-proxy's alone: nothing of ours uses it, and it goes with the others. */
export const formerSetName = (family: IpFamily) =>
  `KUBE-${family === 'ip6' ? '6-' : ''}LOAD-BALANCER-SOURCE-IP`;
