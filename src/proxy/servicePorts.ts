// From a Service and its EndpointSlices to the ports that are proxied. Pure.
// Guarantees: headless and ExternalName services have none; the order of slices and endpoints does not matter; fields
// that make no sense (an address of neither family, a port of 0) are left out and do not disturb the rest; an address has
// one spelling; source ranges that cannot be read let nobody in.

import type { IpFamily, Protocol, ServicePort } from '../../proxy-modes/mode.js';
import type { V1EndpointSlice, V1Service, V1ServicePort } from '../api/gen/types.js';
import { parseCidr, parseIp, printedCidr, printedIp } from '../api/ip.js';
import { keyOf, type Stored } from '../api/object.js';
import { categorize, type Found, lingering, type NodeTopology } from './endpoints.js';

/** Services and slices with one of these, whatever it says, are another proxy's or nobody's. */
const FOREIGN_LABELS = ['service.kubernetes.io/service-proxy-name', 'service.kubernetes.io/headless'];
/** A range in which no client is. */
const NOBODY = { ip: '0.0.0.0/32', ip6: '::/128' } as const;

const PROTOCOLS: Readonly<Record<string, Protocol>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' };
/** As the API defaults it; at most a day. */
const AFFINITY_SECONDS = 10_800;

interface ServiceView {
  readonly service: Stored<V1Service>;
  readonly slices: readonly Stored<V1EndpointSlice>[];
  readonly node: NodeTopology;
}

export function servicePorts({ service, slices, node }: ServiceView): ServicePort[] {
  const { spec } = service;
  if (!isProxied(service)) return [];
  const checkPort = healthCheckNodePort(service);
  const healthCheck = checkPort === undefined ? {} : { healthCheckNodePort: checkPort };
  return (spec.clusterIPs ?? (spec.clusterIP === undefined ? [] : [spec.clusterIP])).flatMap((text) => {
    const address = addressOf(text);
    if (address === undefined) return [];
    const { family, ip: clusterIp } = address;
    const shared = { ...serviceFields(service, family), ...healthCheck };
    return (spec.ports ?? []).flatMap((port) => {
      const protocol = PROTOCOLS[port.protocol ?? 'TCP'];
      if (protocol === undefined || !isPort(port.port)) return [];
      const portName = port.name ?? '';
      const ownKey = keyOf(service.metadata);
      const own = {
        key: `${ownKey}:${portName}/${protocol}/${family}`,
        name: portName === '' ? ownKey : `${ownKey}:${portName}`,
        family,
        protocol,
        clusterIp,
        port: port.port,
        ...(isPort(port.nodePort) ? { nodePort: port.nodePort } : {}),
        ...shared,
      };
      const outside =
        own.nodePort !== undefined || own.externalIps.length > 0 || own.loadBalancerIps.length > 0;
      const policies = { internalLocal: own.internalLocal, externalLocal: own.externalLocal, outside };
      const all = found(slices, port, family);
      const chosen = categorize(all, node, policies);
      const kept = protocol === 'udp' ? lingering(all, node, chosen) : [];
      return [{ ...own, ...chosen, ...(kept.length === 0 ? {} : { lingering: kept }) }];
    });
  });
}

/** The port on which the service's health is told, if it has one. */
export function healthCheckNodePort({ spec }: Stored<V1Service>): number | undefined {
  const isLocal = spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
  return isLocal && isPort(spec.healthCheckNodePort) ? spec.healthCheckNodePort : undefined;
}

export function isProxied({ spec, metadata }: Stored<V1Service>): boolean {
  if (spec.type === 'ExternalName' || spec.clusterIP === 'None' || !spec.clusterIP) return false;
  return isOurs({ metadata });
}

/** Whether a Service or EndpointSlice is left to this proxy. */
export const isOurs = ({ metadata }: Pick<Stored<V1Service | V1EndpointSlice>, 'metadata'>): boolean =>
  FOREIGN_LABELS.every((label) => metadata.labels?.[label] === undefined);

/** What all ports of a service have in common in one family. */
function serviceFields({ spec, status }: Stored<V1Service>, family: IpFamily) {
  const ours = (ips: readonly (string | undefined)[]) =>
    unique(
      ips
        .flatMap((ip) => addressOf(ip ?? '') ?? [])
        .flatMap((one) => (one.family === family ? [one.ip] : [])),
    );
  const isBalanced = spec.type === 'LoadBalancer';
  const ingress = isBalanced ? (status.loadBalancer?.ingress ?? []) : [];
  const timeout = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS;
  return {
    externalIps: ours(spec.externalIPs ?? []),
    // Mode Proxy: the load balancer hands packets over under the node's or the pod's own address.
    loadBalancerIps: ours(
      ingress.filter(({ ipMode }) => ipMode === undefined || ipMode === 'VIP').map(({ ip }) => ip),
    ),
    sourceRanges: isBalanced ? sourceRanges(spec.loadBalancerSourceRanges ?? [], family) : [],
    ...(spec.sessionAffinity === 'ClientIP' ? { affinitySeconds: timeout } : {}),
    internalLocal: spec.internalTrafficPolicy === 'Local',
    externalLocal: spec.externalTrafficPolicy === 'Local',
  };
}

/** The endpoints of one port in the slices, whatever their condition. */
function found(slices: readonly Stored<V1EndpointSlice>[], port: V1ServicePort, family: IpFamily): Found[] {
  const protocol = port.protocol ?? 'TCP';
  return slices
    .filter((slice) => slice.addressType === (family === 'ip' ? 'IPv4' : 'IPv6'))
    .flatMap((slice) => {
      const target = slice.ports?.find(
        (entry) => (entry.name ?? '') === (port.name ?? '') && (entry.protocol ?? 'TCP') === protocol,
      )?.port;
      if (!isPort(target)) return [];
      return (slice.endpoints ?? []).flatMap((endpoint) => {
        const address = addressOf(endpoint.addresses?.[0] ?? '');
        return address?.family === family ? [{ endpoint, ip: address.ip, port: target }] : [];
      });
    });
}

const isPort = (port: number | undefined): port is number =>
  port !== undefined && Number.isInteger(port) && port > 0 && port < 65_536;

/** An address in the one spelling that the kernel's tools have for it: an IPv4 address has no other. */
function addressOf(text: string): { readonly ip: string; readonly family: IpFamily } | undefined {
  const parsed = parseIp(text);
  if (parsed === undefined) return undefined;
  return parsed.family === 'IPv4' ? { ip: text, family: 'ip' } : { ip: printedIp(parsed), family: 'ip6' };
}

/** Those of the family; where nothing of them can be read, nobody's. Ranges of the other family say nothing here. */
function sourceRanges(texts: readonly string[], family: IpFamily): string[] {
  const wanted = family === 'ip' ? 'IPv4' : 'IPv6';
  const ranges = texts.map((text) => parseCidr(text.trim()));
  const ours = ranges.flatMap((range) => (range?.family === wanted ? [printedCidr(range)] : []));
  return ours.length === 0 && ranges.includes(undefined) ? [NOBODY[family]] : unique(ours);
}

const unique = (values: readonly string[]): string[] => [...new Set(values)].sort();
