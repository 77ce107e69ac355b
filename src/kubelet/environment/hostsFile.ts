// The text of a pod's /etc/hosts. Pure.
// Guarantees: the same pod and addresses give the same bytes.
import type { V1HostAlias } from '../../api/gen/types.js';
import type { Pod } from '../ports.js';

const LOCAL_NAMES = `127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;

const MAX_HOSTNAME = 63;

/** The name inside the pod, cut to what a hostname may be: the one that overrides, its own hostname, or the pod's name. */
export function hostnameOf({ metadata, spec }: Pod): string {
  const name = spec.hostnameOverride || spec.hostname || metadata.name;
  return name.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, '');
}

/** The domain behind it; empty for a pod without one, and where the hostname is overridden, which says all. */
export function domainOf({ metadata, spec }: Pod, clusterDomain: string): string {
  const { subdomain, hostnameOverride } = spec;
  return subdomain && !hostnameOverride
    ? `${subdomain}.${metadata.namespace ?? 'default'}.svc.${clusterDomain}`
    : '';
}

export function podHostsText(pod: Pod, podIps: readonly string[], clusterDomain: string): string {
  const host = hostnameOf(pod);
  const { hostAliases } = pod.spec;
  const domain = domainOf(pod, clusterDomain);
  const full = domain === '' ? '' : `${host}.${domain}\t`;
  const own = podIps.map((ip) => `${ip}\t${full}${host}\n`).join('');
  return `# Kubernetes-managed hosts file.\n${LOCAL_NAMES}${own}${aliasText(hostAliases)}`;
}

/** A pod in the node's network has the node's own file, and its aliases below. */
export function nodeHostsText(nodeFile: string, aliases: readonly V1HostAlias[] | undefined): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeFile}${aliasText(aliases)}`;
}

function aliasText(aliases: readonly V1HostAlias[] = []): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames = [] }) => `${[ip, ...hostnames].join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
