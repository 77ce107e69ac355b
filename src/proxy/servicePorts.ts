// From a Service and its EndpointSlices to the ports that are proxied. Pure.
// Guarantees: headless and ExternalName services have none; the order of slices and endpoints does not matter; fields
// that make no sense (an address of neither family, a port of 0) are left out and do not disturb the rest.
import type { V1EndpointSlice, V1Service, V1ServicePort } from '../api/gen/types.js';
import { parseCidr, parseIp } from '../api/ip.js';
import { keyOf, type Stored } from '../api/object.js';
import { categorize, type Found, type NodeTopology } from './endpoints.js';
import type { IpFamily, Protocol, ServicePort } from './state.js';

/** Services with it belong to another proxy. */
const PROXY_NAME_LABEL = 'service.kubernetes.io/service-proxy-name';

const PROTOCOLS: Readonly<Record<string, Protocol>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' };
/** As the API defaults it; at most a day. */
const AFFINITY_SECONDS = 10_800;

export interface ServiceView {
  readonly service: Stored<V1Service>;
  readonly slices: readonly Stored<V1EndpointSlice>[];
  readonly node: NodeTopology;
}

export function servicePorts({ service, slices, node }: ServiceView): ServicePort[] {
  const { spec } = service;
  if (!isProxied(service)) return [];
  const checkPort = healthCheckNodePort(service);
  const healthCheck = checkPort === undefined ? {} : { healthCheckNodePort: checkPort };
  return (spec.clusterIPs ?? (spec.clusterIP === undefined ? [] : [spec.clusterIP])).flatMap((clusterIp) => {
    const family = familyOf(clusterIp);
    if (family === undefined) return [];
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
      return [{ ...own, ...categorize(found(slices, port, family), node, policies) }];
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
  return metadata.labels?.[PROXY_NAME_LABEL] === undefined;
}

/** What all ports of a service have in common in one family. */
function serviceFields({ spec, status }: Stored<V1Service>, family: IpFamily) {
  const ours = (ip: string | undefined): ip is string => ip !== undefined && familyOf(ip) === family;
  const isBalanced = spec.type === 'LoadBalancer';
  const ingress = isBalanced ? (status.loadBalancer?.ingress ?? []) : [];
  const timeout = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS;
  return {
    externalIps: unique((spec.externalIPs ?? []).filter(ours)),
    // Mode Proxy: the load balancer hands packets over under the node's or the pod's own address.
    loadBalancerIps: unique(
      ingress
        .filter(({ ipMode }) => ipMode === undefined || ipMode === 'VIP')
        .map(({ ip }) => ip)
        .filter(ours),
    ),
    sourceRanges: isBalanced
      ? unique((spec.loadBalancerSourceRanges ?? []).map((range) => range.trim())).filter(
          (range) => parseCidr(range)?.family === (family === 'ip' ? 'IPv4' : 'IPv6'),
        )
      : [],
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
        const ip = endpoint.addresses?.[0];
        return ip !== undefined && familyOf(ip) === family ? [{ endpoint, ip, port: target }] : [];
      });
    });
}

const isPort = (port: number | undefined): port is number =>
  port !== undefined && Number.isInteger(port) && port > 0 && port < 65_536;

function familyOf(ip: string): IpFamily | undefined {
  const family = parseIp(ip)?.family;
  return family === undefined ? undefined : family === 'IPv4' ? 'ip' : 'ip6';
}

const unique = (values: readonly string[]): string[] => [...new Set(values)].sort();
