// The endpoints that a Service's pods make: addresses, conditions and ports, grouped by what they share. Pure.
// Guarantees: finished pods and pods without an address are left out; one pod appears once a family and port set.
import type { DiscoveryV1EndpointPort, V1Endpoint, V1Service, V1ServicePort } from '../../api/gen/types.js';
import { type Family, parseIp } from '../../api/ip.js';
import type { Stored } from '../../api/object.js';
import { isFinished, isReady, isTerminating, type Pod } from '../pods.js';

export type Service = Stored<V1Service>;

/** PreferClose is the older name of PreferSameZone. */
const NEAR: ReadonlySet<string> = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode']);

export interface EndpointGroup {
  readonly addressType: Family;
  readonly ports: readonly DiscoveryV1EndpointPort[];
  readonly endpoints: readonly V1Endpoint[];
}

export interface ServiceObserved {
  readonly service: Service;
  readonly pods: readonly Pod[];
  zoneOf(nodeName: string): string | undefined;
}

/** Services without a selector, and names for things outside, have endpoints that others write. */
export function hasOwnEndpoints({ spec }: Service): boolean {
  return spec.type !== 'ExternalName' && Object.keys(spec.selector ?? {}).length > 0;
}

export function familiesOf({ spec }: Service): readonly Family[] {
  const named = (spec.ipFamilies ?? []).filter((family) => family === 'IPv4' || family === 'IPv6');
  if (named.length > 0) return named;
  return [parseIp(spec.clusterIP ?? '')?.family ?? 'IPv4'];
}

export function endpointGroups(observed: ServiceObserved): EndpointGroup[] {
  const groups = new Map<
    string,
    { addressType: Family; ports: DiscoveryV1EndpointPort[]; endpoints: V1Endpoint[] }
  >();
  for (const pod of observed.pods) {
    if (isFinished(pod)) continue;
    const ports = portsOf(observed.service, pod);
    for (const addressType of familiesOf(observed.service)) {
      const addresses = addressesOf(pod, addressType);
      if (addresses.length === 0) continue;
      const key = groupKey(addressType, ports);
      const group = groups.get(key) ?? { addressType, ports, endpoints: [] };
      groups.set(key, group);
      group.endpoints.push(endpointOf(observed, pod, addresses));
    }
  }
  return [...groups.values()];
}

export function groupKey(addressType: string, ports: readonly DiscoveryV1EndpointPort[]): string {
  const parts = ports.map(({ name, protocol, port, appProtocol }) =>
    JSON.stringify([name ?? '', protocol ?? 'TCP', port ?? null, appProtocol ?? null]),
  );
  return `${addressType}:${parts.sort().join()}`;
}

function endpointOf(
  { service, zoneOf }: ServiceObserved,
  pod: Pod,
  addresses: readonly string[],
): V1Endpoint {
  const { metadata, spec } = pod;
  const serving = isReady(pod);
  const terminating = isTerminating(pod);
  const zone = spec.nodeName ? zoneOf(spec.nodeName) : undefined;
  const hostname = hostnameOf(service, pod);
  const ready = service.spec.publishNotReadyAddresses === true || (serving && !terminating);
  return {
    addresses,
    conditions: {
      ready,
      serving,
      terminating,
    },
    targetRef: {
      kind: 'Pod',
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      name: metadata.name,
      uid: metadata.uid,
    },
    ...(spec.nodeName ? { nodeName: spec.nodeName } : {}),
    ...(zone === undefined ? {} : { zone }),
    ...(hostname === undefined ? {} : { hostname }),
    ...hintsOf(service, { ready, zone, nodeName: spec.nodeName }),
  };
}

interface Whereabouts {
  readonly ready: boolean;
  readonly zone: string | undefined;
  readonly nodeName: string | undefined;
}

/** Near ones first, as the Service asks; who cannot be reached yet is recommended to nobody. */
function hintsOf({ spec }: Service, { ready, zone, nodeName }: Whereabouts): Pick<V1Endpoint, 'hints'> {
  const near = spec.trafficDistribution;
  if (!ready || !NEAR.has(near ?? '')) return {};
  const forNodes = near === 'PreferSameNode' && nodeName ? { forNodes: [{ name: nodeName }] } : {};
  const hints = { ...(zone ? { forZones: [{ name: zone }] } : {}), ...forNodes };
  return Object.keys(hints).length === 0 ? {} : { hints };
}

/** A pod is found by its own name only under the Service that its subdomain names. */
export function hostnameOf({ metadata }: Service, { spec }: Pod): string | undefined {
  return spec.hostname && spec.subdomain === metadata.name ? spec.hostname : undefined;
}

export function addressesOf({ status }: Pod, family: Family): string[] {
  const listed = (status?.podIPs ?? []).map(({ ip }) => ip);
  const all = listed.length > 0 ? listed : [status?.podIP];
  // The server has checked them: a colon tells the family.
  return all.filter(
    (address): address is string => Boolean(address) && address?.includes(':') === (family === 'IPv6'),
  );
}

/** A named target port is looked up in each pod: pods of one Service may serve it on different numbers. */
export function portsOf({ spec }: Service, pod: Pod): DiscoveryV1EndpointPort[] {
  return (spec.ports ?? []).flatMap((servicePort) => {
    const port = targetPortOf(servicePort, pod);
    if (port === undefined) return [];
    return [
      {
        name: servicePort.name ?? '',
        protocol: servicePort.protocol ?? 'TCP',
        port,
        ...(servicePort.appProtocol === undefined ? {} : { appProtocol: servicePort.appProtocol }),
      },
    ];
  });
}

function targetPortOf({ targetPort, port, protocol }: V1ServicePort, { spec }: Pod): number | undefined {
  if (targetPort === undefined || targetPort === 0 || targetPort === '') return port;
  if (typeof targetPort === 'number') return targetPort;
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...spec.containers, ...sidecars]
    .flatMap(({ ports }) => ports ?? [])
    .find((named) => named.name === targetPort && (named.protocol ?? 'TCP') === (protocol ?? 'TCP'))
    ?.containerPort;
}
