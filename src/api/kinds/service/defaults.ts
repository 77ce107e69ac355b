// What Kubernetes fills into a service, and what an update keeps of the addresses it was given. Pure.
// Guarantees: addresses and node ports are never chosen here; an update that leaves them out keeps those it had.
import type { V1Service, V1ServiceSpec } from '../../gen/types.js';
import type { Draft } from '../../kind.js';

const STICKY_SECONDS = 10_800;

export function defaultService(spec: Draft<V1ServiceSpec>): void {
  spec.sessionAffinity ||= 'None';
  spec.type ||= 'ClusterIP';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  else if (spec.sessionAffinity === 'ClientIP') {
    spec.sessionAffinityConfig ??= {};
    spec.sessionAffinityConfig.clientIP ??= {};
    spec.sessionAffinityConfig.clientIP.timeoutSeconds ??= STICKY_SECONDS;
  }
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    port.targetPort ||= port.port;
  }
  if (isReachedFromOutside(spec)) spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type !== 'ExternalName') spec.internalTrafficPolicy ||= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
}

/** The types that have node ports. */
export const hasNodePorts = ({ type }: Pick<V1ServiceSpec, 'type'>): boolean =>
  type === 'NodePort' || type === 'LoadBalancer';

const isReachedFromOutside = (spec: Draft<V1ServiceSpec>) =>
  hasNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);

/** Clients send back what they read, often without what was allocated; it stays. */
function keepAllocated(spec: Draft<V1ServiceSpec>, old: V1ServiceSpec): void {
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    if (!spec.clusterIP && (spec.clusterIPs ?? []).length === 0) {
      if (old.clusterIP !== undefined) spec.clusterIP = old.clusterIP;
      if (old.clusterIPs !== undefined) spec.clusterIPs = [...old.clusterIPs];
    } else if (!spec.clusterIP) spec.clusterIP = spec.clusterIPs?.[0] ?? '';
    else if (
      spec.clusterIPs === undefined &&
      spec.clusterIP === old.clusterIP &&
      old.clusterIPs !== undefined
    )
      spec.clusterIPs = [...old.clusterIPs];
    spec.ipFamilies ??= old.ipFamilies === undefined ? [] : [...old.ipFamilies];
    if (old.ipFamilyPolicy !== undefined) spec.ipFamilyPolicy ??= old.ipFamilyPolicy;
    if (spec.ipFamilies.length === 0) delete spec.ipFamilies;
  }
  if (hasNodePorts(spec) && hasNodePorts(old)) keepNodePorts(spec, old);
  if (spec.type === 'LoadBalancer' && old.healthCheckNodePort && spec.externalTrafficPolicy === 'Local')
    spec.healthCheckNodePort ||= old.healthCheckNodePort;
}

function keepNodePorts(spec: Draft<V1ServiceSpec>, old: V1ServiceSpec): void {
  const taken = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort));
  for (const port of spec.ports ?? []) {
    if (port.nodePort) continue;
    const before = (old.ports ?? []).find(
      ({ port: number, protocol }) => number === port.port && protocol === port.protocol,
    );
    if (before?.nodePort && !taken.has(before.nodePort)) {
      port.nodePort = before.nodePort;
      taken.add(before.nodePort);
    }
  }
}

/** What only some types have goes when the type changes, unless the update itself sets it anew. */
function dropOfOtherType(spec: Draft<V1ServiceSpec>, old: V1ServiceSpec): void {
  if (spec.type === 'ExternalName' && old.type !== 'ExternalName') {
    if (spec.clusterIP === old.clusterIP) delete spec.clusterIP;
    delete spec.clusterIPs;
    delete spec.ipFamilies;
    delete spec.ipFamilyPolicy;
    delete spec.internalTrafficPolicy;
  }
  const before = new Set((old.ports ?? []).map(({ nodePort }) => nodePort));
  if (hasNodePorts(old) && !hasNodePorts(spec))
    for (const port of spec.ports ?? []) if (before.has(port.nodePort)) delete port.nodePort;
  if (!isReachedFromOutside(spec) && spec.externalTrafficPolicy === old.externalTrafficPolicy)
    delete spec.externalTrafficPolicy;
  if (spec.type !== 'LoadBalancer' && old.type === 'LoadBalancer') {
    delete spec.allocateLoadBalancerNodePorts;
    delete spec.healthCheckNodePort;
    delete spec.loadBalancerClass;
  }
}

export function prepareServiceUpdate(draft: Draft<V1Service>, old: V1Service): void {
  if (draft.spec === undefined || old.spec === undefined) return;
  keepAllocated(draft.spec, old.spec);
  dropOfOtherType(draft.spec, old.spec);
}
