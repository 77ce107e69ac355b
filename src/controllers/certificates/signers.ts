// The signers whose names begin with kubernetes.io, and what each of them may be asked for. Pure.
// Guarantees: rules are Kubernetes'; what a rule refuses is told in words for the requester.
import type { RequestedCertificate } from './request.js';

const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
export const KUBELET_CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
export const KUBELET_SERVING_SIGNER = 'kubernetes.io/kubelet-serving';
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';

const NODES_GROUP = 'system:nodes';
export const NODE_PREFIX = 'system:node:';

/** Why the request must not be signed; undefined when it may. */
type SignerRule = (asked: RequestedCertificate, usages: readonly string[]) => string | undefined;

export const SIGNERS: ReadonlyMap<string, SignerRule> = new Map([
  [CLIENT_SIGNER, clientRule],
  [KUBELET_CLIENT_SIGNER, kubeletClientRule],
  [KUBELET_SERVING_SIGNER, kubeletServingRule],
  [LEGACY_SIGNER, () => undefined],
]);

function clientRule(_: RequestedCertificate, usages: readonly string[]): string | undefined {
  return usageFault(usages, 'client auth');
}

export function kubeletClientRule(
  asked: RequestedCertificate,
  usages: readonly string[],
): string | undefined {
  if (asked.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed';
  if (asked.emails.length > 0) return 'Email subjectAltNames are not allowed';
  if (asked.ipAddresses.length > 0) return 'IP subjectAltNames are not allowed';
  if (asked.uris.length > 0) return 'URI subjectAltNames are not allowed';
  return nodeFault(asked) ?? usageFault(usages, 'client auth', 'digital signature');
}

export function kubeletServingRule(
  asked: RequestedCertificate,
  usages: readonly string[],
): string | undefined {
  if (asked.dnsNames.length + asked.ipAddresses.length === 0)
    return 'at least one DNS or IP subjectAltName is required';
  if (asked.emails.length > 0) return 'Email subjectAltNames are not allowed';
  if (asked.uris.length > 0) return 'URI subjectAltNames are not allowed';
  return nodeFault(asked) ?? usageFault(usages, 'server auth', 'digital signature');
}

function nodeFault({ commonName, organizations }: RequestedCertificate): string | undefined {
  if (organizations.length !== 1 || organizations[0] !== NODES_GROUP)
    return `organization is not ${NODES_GROUP}`;
  return commonName.startsWith(NODE_PREFIX) ? undefined : `CN does not start with ${NODE_PREFIX}`;
}

/** Key encipherment may come along: keys of the older kind need it. */
function usageFault(usages: readonly string[], ...needed: readonly string[]): string | undefined {
  const allowed = new Set([...needed, 'digital signature', 'key encipherment']);
  const missing = needed.filter((usage) => !usages.includes(usage));
  const surplus = usages.filter((usage) => !allowed.has(usage));
  if (missing.length === 0 && surplus.length === 0) return undefined;
  return `usages did not match [${[...allowed].join(', ')}]`;
}
