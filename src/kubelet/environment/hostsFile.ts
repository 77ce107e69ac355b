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

/** The name inside the pod: its own hostname, or the pod's name cut to what a hostname may be. */
export function hostnameOf({ metadata, spec }: Pod): string {
  if (spec.hostname) return spec.hostname;
  return metadata.name.slice(0, 63).replace(/[-.]+$/, '');
}

export function podHostsText(pod: Pod, podIps: readonly string[], clusterDomain: string): string {
  const host = hostnameOf(pod);
  const { subdomain, hostAliases } = pod.spec;
  const full = subdomain ? `${host}.${subdomain}.${pod.metadata.namespace ?? ''}.svc.${clusterDomain}\t` : '';
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
