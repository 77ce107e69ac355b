// The names of everything this mode makes in its table. Pure.
// Guarantees: a name fits nf_tables' limit, is stable for a key, and tells a reader of `nft list ruleset` what it is of.
import { textHash } from '../../src/base/textHash.js';
import type { Endpoint, ServicePort } from '../mode.js';

export const SERVICES = 'services';
export const MARK_FOR_MASQUERADE = 'mark-for-masquerade';
export const NO_ENDPOINTS = 'no-endpoints';
export const REJECT = 'reject-service';
export const SERVICE_IPS = 'service-ips';
export const NODE_PORTS = 'service-nodeports';
export const REJECTED_IPS = 'no-endpoint-services';
export const REJECTED_NODE_PORTS = 'no-endpoint-nodeports';
export const FIREWALL_IPS = 'firewall-ips';
export const FIREWALL = 'firewall-check';
export const ENDPOINTS = 'service-endpoints';
export const CLUSTER_IPS = 'cluster-ips';
export const CLUSTER_IPS_CHECK = 'cluster-ips-check';
export const HAIRPIN = 'hairpin';

const MAX_READABLE = 80;

/** Shared by all services with that many endpoints. */
export const balanceChain = (endpoints: number) => `balance-${endpoints}`;

/** Traffic to the cluster IP; and from outside: to node ports, external and load balancer addresses. */
export const serviceChain = (port: ServicePort) => `svc-${identify(port)}`;
export const externalChain = (port: ServicePort) => `ext-${identify(port)}`;
/** Who may reach the load balancer's addresses. */
export const firewallChain = (port: ServicePort) => `fw-${identify(port)}`;
/** An endpoint of a service whose clients stay with it, and who they are. */
export const endpointChain = (port: ServicePort, endpoint: Endpoint) =>
  `ep-${identifyEndpoint(port, endpoint)}`;
export const clientSet = (port: ServicePort, endpoint: Endpoint) =>
  `affinity-${identifyEndpoint(port, endpoint)}`;

const identifyEndpoint = (port: ServicePort, { ip, port: number }: Endpoint) =>
  `${identify(port)}__${ip.replaceAll(':', '.')}/${number}`;

/** The key's hash makes it unique, its readable part is for people. Names hold letters, digits and / \ _ . - */
function identify({ key }: ServicePort): string {
  return `${textHash(key)}-${key.replace(/[^A-Za-z0-9/.-]/g, '_').slice(0, MAX_READABLE)}`;
}
