// What a Service may say, but better should not: told in Warning headers. Pure.
// Guarantees: Kubernetes' words; nothing here refuses.
import type { V1Service } from '../../gen/types.js';

export function serviceWarnings({ metadata, spec = {} }: V1Service): readonly string[] {
  const isHeadless = (spec.type ?? 'ClusterIP') === 'ClusterIP' && spec.clusterIP === 'None';
  const isExternal = spec.type === 'ExternalName';
  const hasExternalIps = (spec.externalIPs ?? []).length > 0;
  const affinity = spec.sessionAffinity ?? 'None';
  const said: readonly (readonly [boolean, string])[] = [
    [
      metadata?.annotations?.['service.kubernetes.io/topology-aware-hints'] !== undefined,
      'annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead',
    ],
    [
      isHeadless && (spec.loadBalancerIP ?? '') !== '',
      'spec.loadBalancerIP is ignored for headless services',
    ],
    [isHeadless && hasExternalIps, 'spec.externalIPs is ignored for headless services'],
    [isHeadless && affinity !== 'None', 'spec.SessionAffinity is ignored for headless services'],
    [
      hasExternalIps && !isHeadless && !isExternal,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ],
    [isExternal && hasExternalIps, 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
    [
      !isExternal && (spec.externalName ?? '') !== '',
      'spec.externalName is ignored when spec.type is not "ExternalName"',
    ],
    [
      spec.trafficDistribution === 'PreferClose',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  ];
  return said.flatMap(([holds, sentence]) => (holds ? [sentence] : []));
}
