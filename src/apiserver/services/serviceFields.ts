// Which services have addresses and ports, and what of them an update keeps or drops. Pure.
// Guarantees: an update that leaves out what was allocated keeps it; a change of type drops what the new type has not.
import type { V1Service, V1ServicePort, V1ServiceSpec } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';

export type ServiceSpecDraft = Draft<V1ServiceSpec>;
export const HEADLESS = 'None';

export function needsClusterIp(spec: V1ServiceSpec): boolean {
  return spec.type !== 'ExternalName';
}

export function isHeadless(spec: V1ServiceSpec): boolean {
  return needsClusterIp(spec) && (spec.clusterIPs?.[0] ?? spec.clusterIP) === HEADLESS;
}

export function needsNodePorts(spec: V1ServiceSpec): boolean {
  if (spec.type === 'NodePort') return true;
  return spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false;
}

export function needsHealthCheckPort(spec: V1ServiceSpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}

/** The addresses a service holds; none for headless and external ones. */
export function addressesOf(service: V1Service): readonly string[] {
  const spec = service.spec ?? {};
  if (!needsClusterIp(spec)) return [];
  const listed = spec.clusterIPs ?? [];
  const addresses = listed.length > 0 ? listed : [spec.clusterIP ?? ''];
  return addresses.filter((address) => address !== '' && address !== HEADLESS);
}

/** The node ports a service holds, each once: TCP and UDP may share a number. */
export function portsOf(service: V1Service): readonly number[] {
  const spec = service.spec ?? {};
  const ports = (spec.ports ?? []).map(({ nodePort = 0 }) => nodePort);
  return [...new Set([...ports, spec.healthCheckNodePort ?? 0])].filter((port) => port > 0);
}

/** Brings clusterIP and clusterIPs to agree, whichever of the two the client spoke in. */
export function alignClusterIps(spec: ServiceSpecDraft, old?: V1ServiceSpec): void {
  const [first = ''] = spec.clusterIPs ?? [];
  const single = spec.clusterIP ?? '';
  const listUnchanged = same(spec.clusterIPs ?? [], old?.clusterIPs ?? []);
  if (first === '') {
    if (single !== '') spec.clusterIPs = [single];
  } else if (old === undefined) {
    if (single === '') spec.clusterIP = first;
  } else if (single === '' && (old.clusterIP ?? '') !== '' && listUnchanged) delete spec.clusterIPs;
  else if (single !== (old.clusterIP ?? '') && listUnchanged) spec.clusterIPs = [single];
  else if (single === (old.clusterIP ?? '') && !listUnchanged) spec.clusterIP = first;
}

/** What an older client, or a replace, left out of an update. */
export function keepAllocated(spec: ServiceSpecDraft, old: V1ServiceSpec): void {
  if (needsClusterIp(old) && needsClusterIp(spec)) {
    if ((spec.clusterIP ?? '') === '' && (spec.clusterIPs ?? []).length === 0) {
      if (old.clusterIP !== undefined) spec.clusterIP = old.clusterIP;
      if (old.clusterIPs !== undefined) spec.clusterIPs = [...old.clusterIPs];
    }
    if ((spec.ipFamilies ?? []).length === 0 && old.ipFamilies !== undefined)
      spec.ipFamilies = [...old.ipFamilies];
    if (spec.ipFamilyPolicy === undefined && old.ipFamilyPolicy !== undefined)
      spec.ipFamilyPolicy = old.ipFamilyPolicy;
  }
  if (needsNodePorts(old) && needsNodePorts(spec)) keepNodePorts(spec.ports ?? [], old.ports ?? []);
  if (
    needsHealthCheckPort(old) &&
    needsHealthCheckPort(spec) &&
    !spec.healthCheckNodePort &&
    old.healthCheckNodePort !== undefined
  )
    spec.healthCheckNodePort = old.healthCheckNodePort;
}

/** What the new type has no use for, when the client only sent back what it had read. */
export function dropForType(spec: ServiceSpecDraft, old: V1ServiceSpec): void {
  if (needsClusterIp(old) && !needsClusterIp(spec)) {
    if (same(spec.clusterIPs ?? [], old.clusterIPs ?? []) || (spec.clusterIPs ?? []).length === 0) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    delete spec.ipFamilies;
    delete spec.ipFamilyPolicy;
  }
  if (needsNodePorts(old) && !needsNodePorts(spec) && same(nodePorts(spec.ports), nodePorts(old.ports)))
    for (const port of spec.ports ?? []) delete port.nodePort;
  if (
    needsHealthCheckPort(old) &&
    !needsHealthCheckPort(spec) &&
    spec.healthCheckNodePort === old.healthCheckNodePort
  )
    delete spec.healthCheckNodePort;
}

function keepNodePorts(ports: Draft<V1ServicePort>[], old: readonly V1ServicePort[]): void {
  const key = ({ port, protocol = 'TCP' }: V1ServicePort) => `${protocol}/${port}`;
  const held = new Map(old.map((port) => [key(port), port.nodePort]));
  const taken = new Set(ports.map(({ nodePort }) => nodePort));
  for (const port of ports) {
    const nodePort = held.get(key(port));
    if (!port.nodePort && nodePort !== undefined && !taken.has(nodePort)) port.nodePort = nodePort;
  }
}

const nodePorts = (ports: readonly V1ServicePort[] | undefined) =>
  (ports ?? []).map(({ nodePort = 0 }) => nodePort);
const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);
