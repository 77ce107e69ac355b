// What objects use of a quota, by resource name. Pure.
// Guarantees: a pod that has ended uses nothing but its place in count/pods; amounts are added exactly.
import type {
  V1PersistentVolumeClaim,
  V1Pod,
  V1ResourceQuotaSpec,
  V1ScopedResourceSelectorRequirement,
  V1Service,
} from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { addQuantities, compareQuantities } from '../../api/quantity.js';

export type Amounts = Readonly<Record<string, string>>;

export function addAmounts(a: Amounts, b: Amounts): Amounts {
  const sum: Record<string, string> = { ...a };
  for (const [name, amount] of Object.entries(b)) sum[name] = addQuantities(sum[name] ?? '0', amount);
  return sum;
}

const SHORT = new Set(['cpu', 'memory', 'ephemeral-storage']);

export function podUsage(pod: Stored<V1Pod>): Amounts {
  const usage: Record<string, string> = { 'count/pods': '1' };
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return usage;
  usage['pods'] = '1';
  for (const [name, amount] of Object.entries(podTotal(pod, 'requests'))) {
    usage[`requests.${name}`] = amount;
    if (SHORT.has(name)) usage[name] = amount;
  }
  for (const [name, amount] of Object.entries(podTotal(pod, 'limits')))
    if (SHORT.has(name)) usage[`limits.${name}`] = amount;
  return usage;
}

/** All containers together, or the greediest step of the start, whichever is more; and the pod's overhead. */
function podTotal({ spec }: V1Pod, of: 'requests' | 'limits'): Amounts {
  let running: Amounts = {};
  for (const { resources } of spec?.containers ?? []) running = addAmounts(running, resources?.[of] ?? {});
  let beside: Amounts = {};
  let peak: Amounts = {};
  for (const { resources, restartPolicy } of spec?.initContainers ?? []) {
    const own = resources?.[of] ?? {};
    // A sidecar stays: whatever starts after it runs beside it.
    if (restartPolicy === 'Always') {
      beside = addAmounts(beside, own);
      peak = greater(peak, beside);
    } else peak = greater(peak, addAmounts(beside, own));
  }
  const total = greater(addAmounts(running, beside), peak);
  const asked = { ...total, ...spec?.resources?.[of] };
  return spec?.overhead === undefined || Object.keys(asked).length === 0
    ? asked
    : addAmounts(asked, spec.overhead);
}

function greater(a: Amounts, b: Amounts): Amounts {
  const most: Record<string, string> = { ...a };
  for (const [name, amount] of Object.entries(b))
    if (most[name] === undefined || compareQuantities(amount, most[name]) > 0) most[name] = amount;
  return most;
}

export function serviceUsage({ spec }: Stored<V1Service>): Amounts {
  const type = spec.type ?? 'ClusterIP';
  const ports = spec.ports ?? [];
  const allocates = type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts === false;
  const nodePorts =
    type === 'NodePort' || (type === 'LoadBalancer' && !allocates)
      ? ports.length
      : ports.filter(({ nodePort }) => (nodePort ?? 0) > 0).length;
  return {
    services: '1',
    'count/services': '1',
    ...(nodePorts === 0 || type === 'ClusterIP' ? {} : { 'services.nodeports': String(nodePorts) }),
    ...(type === 'LoadBalancer' ? { 'services.loadbalancers': '1' } : {}),
  };
}

export function claimUsage({ spec, metadata }: Stored<V1PersistentVolumeClaim>): Amounts {
  const storage = spec.resources?.requests?.['storage'];
  const className =
    spec.storageClassName ?? metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? '';
  const prefix = className === '' ? undefined : `${className}.storageclass.storage.k8s.io`;
  return {
    persistentvolumeclaims: '1',
    'count/persistentvolumeclaims': '1',
    ...(storage === undefined ? {} : { 'requests.storage': storage }),
    ...(prefix === undefined ? {} : { [`${prefix}/persistentvolumeclaims`]: '1' }),
    ...(prefix === undefined || storage === undefined ? {} : { [`${prefix}/requests.storage`]: storage }),
  };
}

/** Whether a pod is among those that the quota speaks of. */
export function inScope({ scopes = [], scopeSelector }: V1ResourceQuotaSpec, pod: Stored<V1Pod>): boolean {
  const requirements: readonly V1ScopedResourceSelectorRequirement[] = [
    ...scopes.map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(scopeSelector?.matchExpressions ?? []),
  ];
  return requirements.every((requirement) => meetsScope(requirement, pod));
}

function meetsScope(
  { scopeName, operator, values = [] }: V1ScopedResourceSelectorRequirement,
  { spec }: Stored<V1Pod>,
): boolean {
  switch (scopeName) {
    case 'Terminating':
      return (spec.activeDeadlineSeconds ?? -1) >= 0;
    case 'NotTerminating':
      return spec.activeDeadlineSeconds === undefined;
    case 'BestEffort':
      return isBestEffort(spec);
    case 'NotBestEffort':
      return !isBestEffort(spec);
    case 'PriorityClass': {
      const name = spec.priorityClassName ?? '';
      if (operator === 'Exists') return name !== '';
      if (operator === 'DoesNotExist') return name === '';
      return operator === 'In' ? values.includes(name) : !values.includes(name);
    }
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(spec);
    default:
      return false;
  }
}

type PodSpec = Stored<V1Pod>['spec'];

function isBestEffort({ containers, initContainers = [] }: PodSpec): boolean {
  return [...containers, ...initContainers].every(({ resources }) =>
    [...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})].every(
      (name) => name !== 'cpu' && name !== 'memory',
    ),
  );
}

function crossesNamespaces({ affinity }: PodSpec): boolean {
  const groups = [affinity?.podAffinity, affinity?.podAntiAffinity];
  return groups
    .flatMap((group) => [
      ...(group?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(group?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
        ({ podAffinityTerm }) => podAffinityTerm,
      ),
    ])
    .some(
      ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
    );
}
