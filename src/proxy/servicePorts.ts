// From a Service and its EndpointSlices to the ports that are proxied. Pure.
// Guarantees: headless and ExternalName services have none; the order of slices and endpoints does not matter.
import type { V1Endpoint, V1EndpointSlice, V1Service } from '../api/gen/types.js';
import { keyOf, type Stored } from '../api/object.js';
import type { Endpoint, IpFamily, Protocol, ServicePort } from './state.js';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
/** Services with it belong to another proxy. */
const PROXY_NAME_LABEL = 'service.kubernetes.io/service-proxy-name';

const PROTOCOLS: Readonly<Record<string, Protocol>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' };

export interface ServiceView {
  readonly service: Stored<V1Service>;
  readonly slices: readonly Stored<V1EndpointSlice>[];
  readonly nodeName: string;
}

export function servicePorts({ service, slices, nodeName }: ServiceView): ServicePort[] {
  const { spec } = service;
  if (!isProxied(service)) return [];
  return (spec.clusterIPs ?? []).flatMap((clusterIp) => {
    const family: IpFamily = clusterIp.includes(':') ? 'ip6' : 'ip';
    return (spec.ports ?? []).flatMap((port) => {
      const protocol = PROTOCOLS[port.protocol ?? 'TCP'];
      if (protocol === undefined) return [];
      const portName = port.name ?? '';
      return [
        {
          key: `${keyOf(service.metadata)}:${portName}/${protocol}/${family}`,
          family,
          protocol,
          clusterIp,
          port: port.port,
          ...(port.nodePort === undefined || port.nodePort === 0 ? {} : { nodePort: port.nodePort }),
          internalLocal: spec.internalTrafficPolicy === 'Local',
          externalLocal: spec.externalTrafficPolicy === 'Local',
          endpoints: usableEndpoints(slices, {
            portName,
            family,
            nodeName,
            protocol: port.protocol ?? 'TCP',
          }),
        },
      ];
    });
  });
}

function isProxied({ spec, metadata }: Stored<V1Service>): boolean {
  if (spec.type === 'ExternalName' || spec.clusterIP === 'None' || !spec.clusterIP) return false;
  return metadata.labels?.[PROXY_NAME_LABEL] === undefined;
}

interface PortView {
  readonly portName: string;
  readonly protocol: string;
  readonly family: IpFamily;
  readonly nodeName: string;
}

/** The ready ones; when there is none, those that still serve while they end. */
function usableEndpoints(slices: readonly Stored<V1EndpointSlice>[], view: PortView): Endpoint[] {
  const found = slices
    .filter((slice) => slice.addressType === (view.family === 'ip' ? 'IPv4' : 'IPv6'))
    .flatMap((slice) => {
      const port = slice.ports?.find(
        (entry) => (entry.name ?? '') === view.portName && (entry.protocol ?? 'TCP') === view.protocol,
      )?.port;
      return port === undefined ? [] : (slice.endpoints ?? []).map((endpoint) => ({ endpoint, port }));
    });
  const ready = found.filter(({ endpoint }) => isReady(endpoint));
  const serving = found.filter(
    ({ endpoint }) => isServing(endpoint) && endpoint.conditions?.terminating === true,
  );
  return unique(
    (ready.length > 0 ? ready : serving).flatMap(({ endpoint, port }) =>
      endpoint.addresses.slice(0, 1).map((ip) => ({ ip, port, local: endpoint.nodeName === view.nodeName })),
    ),
  );
}

/** Absent means true, as the API says. */
const isReady = ({ conditions }: V1Endpoint) => conditions?.ready !== false;
const isServing = ({ conditions }: V1Endpoint) => conditions?.serving !== false;

/** While an endpoint moves from one slice to another it may be in both. */
function unique(endpoints: readonly Endpoint[]): Endpoint[] {
  const byPlace = new Map(endpoints.map((endpoint) => [`${endpoint.ip} ${endpoint.port}`, endpoint]));
  return [...byPlace.entries()]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, endpoint]) => endpoint);
}
