// The names of the chains this mode makes. Pure.
// Guarantees: kube-proxy's names, hashed as kube-proxy hashes them, so that its tools and its clean-up know them.
import { createHash } from 'node:crypto';
import type { Endpoint, ServicePort } from '../mode.js';

export const SERVICES = 'KUBE-SERVICES';
export const EXTERNAL_SERVICES = 'KUBE-EXTERNAL-SERVICES';
export const NODE_PORTS = 'KUBE-NODEPORTS';
export const POSTROUTING = 'KUBE-POSTROUTING';
export const MARK_MASQ = 'KUBE-MARK-MASQ';
export const FORWARD = 'KUBE-FORWARD';
export const PROXY_FIREWALL = 'KUBE-PROXY-FIREWALL';
/** What is left of the range of services: ports that a service has not, and addresses that nobody has. Our own. */
export const CLUSTER_IPS = 'KUBE-CLUSTER-IPS';
/** Holds nothing: while it is there, nobody has flushed the tables. */
export const CANARY = 'KUBE-PROXY-CANARY';

/** Chains of one service port: all endpoints, local endpoints, traffic from outside, source ranges. */
export const serviceChain = (port: ServicePort) => `KUBE-SVC-${hash(port.name + port.protocol)}`;
export const localChain = (port: ServicePort) => `KUBE-SVL-${hash(port.name + port.protocol)}`;
export const externalChain = (port: ServicePort) => `KUBE-EXT-${hash(port.name + port.protocol)}`;
export const firewallChain = (port: ServicePort) => `KUBE-FW-${hash(port.name + port.protocol)}`;
export const endpointChain = (port: ServicePort, endpoint: Endpoint) =>
  `KUBE-SEP-${hash(port.name + port.protocol + placeOf(endpoint))}`;

/** Chains that belong to single service ports, whoever made them. */
export const isServiceChain = (name: string) => /^KUBE-(SVC|SVL|EXT|FW|SEP|XLB)-/.test(name);

export const placeOf = ({ ip, port }: Endpoint) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`);

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The first sixteen digits of SHA-256 in base 32. */
function hash(text: string): string {
  const bytes = createHash('sha256').update(text).digest();
  let digits = '';
  for (let at = 0; at < 16; at++) {
    const bit = at * 5;
    const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    digits += ALPHABET[(pair >> (11 - (bit & 7))) & 31];
  }
  return digits;
}
