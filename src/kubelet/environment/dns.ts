// The resolver settings of a pod, by its dnsPolicy and dnsConfig. Pure.
// Guarantees: within the resolver's limits; what had to be left out is said.
import type { V1PodDNSConfig, V1PodDNSConfigOption } from '../../api/gen/types.js';
import type { Pod } from '../ports.js';

interface ResolverSettings {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

interface ClusterDns {
  readonly servers: readonly string[];
  /** Such as `cluster.local`; empty for none. */
  readonly domain: string;
}

const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARS = 2048;

/** Settings of a resolv.conf as text; the last `search` or `domain` line counts, as it does for the C library. */
export function parseResolvConf(text: string): ResolverSettings {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  let options: readonly string[] = [];
  for (const line of text.split('\n')) {
    const [word, ...values] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (word === 'nameserver' && values[0] !== undefined) servers.push(values[0]);
    if (word === 'search' || word === 'domain') searches = values.map(withoutFinalDot);
    if (word === 'options') options = [...new Set([...options, ...values])];
  }
  return { servers, searches, options };
}

/** `warnings` are the messages of the events MissingClusterDNS and DNSConfigForming. */
export function podDns(
  pod: Pod,
  cluster: ClusterDns,
  host: ResolverSettings,
): {
  readonly settings: ResolverSettings;
  readonly warnings: readonly { reason: string; message: string }[];
} {
  const warnings: { reason: string; message: string }[] = [];
  const base = basis(pod, cluster, host, (message) =>
    warnings.push({ reason: 'MissingClusterDNS', message }),
  );
  const merged = withConfig(base, pod.spec.dnsConfig);
  const servers = merged.servers.slice(0, MAX_SERVERS);
  const searches = fitting(merged.searches);
  const forming = (message: string) => warnings.push({ reason: 'DNSConfigForming', message });
  if (servers.length < merged.servers.length)
    forming(
      `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`,
    );
  if (searches.length < merged.searches.length)
    forming(
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`,
    );
  return { settings: { servers, searches, options: merged.options }, warnings };
}

function basis(
  pod: Pod,
  cluster: ClusterDns,
  host: ResolverSettings,
  missing: (message: string) => void,
): ResolverSettings {
  const { dnsPolicy = 'ClusterFirst', hostNetwork = false } = pod.spec;
  if (dnsPolicy === 'None') return { servers: [], searches: [], options: [] };
  const clusterFirst =
    dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && !hostNetwork);
  if (!clusterFirst) return host;
  if (cluster.servers.length === 0) {
    missing(
      `pod: "${pod.metadata.name}_${pod.metadata.namespace ?? ''}(${pod.metadata.uid})". kubelet does not have ClusterDNS IP configured and cannot create Pod using "${dnsPolicy}" policy. Falling back to "Default" policy.`,
    );
    return host;
  }
  const { domain } = cluster;
  const own = domain === '' ? [] : [`${pod.metadata.namespace ?? ''}.svc.${domain}`, `svc.${domain}`, domain];
  return {
    servers: cluster.servers,
    searches: [...new Set([...own, ...host.searches])],
    options: ['ndots:5'],
  };
}

function withConfig(base: ResolverSettings, config: V1PodDNSConfig = {}): ResolverSettings {
  return {
    servers: [...new Set([...base.servers, ...(config.nameservers ?? [])])],
    searches: [...new Set([...base.searches, ...(config.searches ?? []).map(withoutFinalDot)])],
    options: withOptions(base.options, config.options ?? []),
  };
}

/** An option of the pod replaces one of the same name. */
function withOptions(base: readonly string[], more: readonly V1PodDNSConfigOption[]): readonly string[] {
  const values = new Map<string, string | undefined>();
  for (const option of base) {
    const colon = option.indexOf(':');
    if (colon === -1) values.set(option, undefined);
    else values.set(option.slice(0, colon), option.slice(colon + 1));
  }
  for (const { name, value } of more) if (name) values.set(name, value);
  return [...values].map(([name, value]) =>
    value === undefined || value === '' ? name : `${name}:${value}`,
  );
}

function fitting(searches: readonly string[]): readonly string[] {
  const fit: string[] = [];
  let chars = -1;
  for (const search of searches.slice(0, MAX_SEARCHES)) {
    chars += search.length + 1;
    if (chars > MAX_SEARCH_CHARS) break;
    fit.push(search);
  }
  return fit;
}

const withoutFinalDot = (name: string) => (name.length > 1 && name.endsWith('.') ? name.slice(0, -1) : name);
