// The names of the chains this mode makes. Pure.
// Guarantees: those of kube-proxy's userspace mode: portals for service addresses, node ports apart, each for traffic that
// comes in and for the node's own.
export const PORTALS_CONTAINER = 'KUBE-PORTALS-CONTAINER';
export const PORTALS_HOST = 'KUBE-PORTALS-HOST';
export const NODEPORT_CONTAINER = 'KUBE-NODEPORT-CONTAINER';
export const NODEPORT_HOST = 'KUBE-NODEPORT-HOST';
/** Our own, as in the iptables mode. */
export const CLUSTER_IPS = 'KUBE-CLUSTER-IPS';
