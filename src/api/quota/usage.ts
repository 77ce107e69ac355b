// How much of what a ResourceQuota counts one object uses. Pure.
// Guarantees: one answer for admission, which reserves, and the controller, which counts again.
import type { V1Container, V1PersistentVolumeClaim, V1Pod, V1PodSpec, V1Service } from '../gen/types.js';
import { heldSpec } from '../kinds/pod/held.js';
import type { KubeObject } from '../object.js';
import { addQuantities, compareQuantities, subtractQuantities } from '../quantity.js';
import type { ResourceType } from '../resources.js';

/** Quantities by resource name, such as `requests.cpu` or `count/deployments.apps`. */
export type Usage = Readonly<Record<string, string>>;

type Named = Pick<ResourceType, 'group' | 'resource'>;

/** Core kinds that are counted under their own name too. */
const COUNTED = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
]);
const STORAGE_CLASS = '.storageclass.storage.k8s.io';
/** These have a name of their own beside `requests.` and `limits.`. */
const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];

/** `count/pods` or `count/deployments.apps`. */
export function countName({ group, resource }: Named): string {
  return `count/${resource}${group === '' ? '' : `.${group}`}`;
}

export function usageOf(type: Named, object: KubeObject): Usage {
  const counts = { [countName(type)]: '1' };
  if (type.group !== '') return counts;
  if (type.resource === 'pods') return { ...counts, ...podUsage(object as V1Pod) };
  const own = COUNTED.has(type.resource) ? { ...counts, [type.resource]: '1' } : counts;
  if (type.resource === 'services') return { ...own, ...serviceUsage(object as V1Service) };
  if (type.resource === 'persistentvolumeclaims')
    return { ...own, ...claimUsage(object as V1PersistentVolumeClaim) };
  return own;
}

function podUsage(pod: V1Pod): Usage {
  const { status, metadata } = pod;
  // A pod that is done holds nothing but its name.
  if (pod.spec === undefined || status?.phase === 'Failed' || status?.phase === 'Succeeded') return {};
  if (metadata?.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0) return {};
  const spec = heldSpec(pod);
  const usage: Record<string, string> = { pods: '1' };
  for (const [name, amount] of Object.entries(podAmounts(spec, 'requests'))) {
    if (COMPUTE.includes(name) || name.startsWith('hugepages-')) usage[name] = amount;
    usage[`requests.${name}`] = amount;
  }
  for (const [name, amount] of Object.entries(podAmounts(spec, 'limits')))
    if (COMPUTE.includes(name)) usage[`limits.${name}`] = amount;
  return usage;
}

/** What all containers take together; init containers run before, one at a time, beside the sidecars before them. */
export function podAmounts(spec: V1PodSpec, key: 'requests' | 'limits'): Usage {
  let lasting: Usage = {};
  let peak: Usage = {};
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(container, key);
    if (container.restartPolicy === 'Always') lasting = sum(lasting, own);
    else peak = greatest(peak, sum(lasting, own));
  }
  const running = (spec.containers ?? []).reduce(
    (total, container) => sum(total, amountsOf(container, key)),
    lasting,
  );
  // What the pod asks for as a whole stands in place of what its containers sum up to.
  const total = { ...greatest(peak, running), ...((spec.resources?.[key] ?? {}) as Usage) };
  const overhead = Object.entries((spec.overhead ?? {}) as Usage);
  // Overhead adds to limits only where there is one.
  const counted = key === 'requests' ? overhead : overhead.filter(([name]) => total[name] !== undefined);
  return sum(total, Object.fromEntries(counted));
}

function amountsOf({ resources }: V1Container, key: 'requests' | 'limits'): Usage {
  return (resources?.[key] ?? {}) as Usage;
}

function serviceUsage({ spec }: V1Service): Usage {
  const ports = spec?.ports?.length ?? 0;
  if (spec?.type === 'NodePort') return { 'services.nodeports': String(ports) };
  if (spec?.type !== 'LoadBalancer') return {};
  const hasNodePorts = spec.allocateLoadBalancerNodePorts !== false;
  const given = hasNodePorts ? ports : (spec.ports ?? []).filter(({ nodePort }) => nodePort).length;
  return { 'services.loadbalancers': '1', 'services.nodeports': String(given) };
}

function claimUsage({ spec, metadata, status }: V1PersistentVolumeClaim): Usage {
  const asked = (spec?.resources?.requests as Usage | undefined)?.['storage'];
  const given = (status?.allocatedResources as Usage | undefined)?.['storage'];
  // An expansion that was asked for and taken back may have begun: what is allocated is held.
  const isLess = asked !== undefined && given !== undefined && compareQuantities(asked, given) < 0;
  const storage = isLess ? given : asked;
  const named =
    metadata?.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec?.storageClassName ?? '';
  return {
    ...(storage === undefined ? {} : { 'requests.storage': storage }),
    ...(named === '' ? {} : { [`${named}${STORAGE_CLASS}/persistentvolumeclaims`]: '1' }),
    ...(named === '' || storage === undefined
      ? {}
      : { [`${named}${STORAGE_CLASS}/requests.storage`]: storage }),
  };
}

export function sum(left: Usage, right: Usage): Usage {
  const total: Record<string, string> = { ...left };
  for (const [name, amount] of Object.entries(right)) total[name] = addQuantities(total[name] ?? '0', amount);
  return total;
}

function greatest(left: Usage, right: Usage): Usage {
  const most: Record<string, string> = { ...left };
  for (const [name, amount] of Object.entries(right))
    if (compareQuantities(amount, most[name] ?? '0') > 0) most[name] = amount;
  return most;
}

/** What `wanted` uses more than `held`; what shrinks is left to the next count. */
export function growth(wanted: Usage, held: Usage): Usage {
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, amount]) => {
      const more = subtractQuantities(amount, held[name] ?? '0');
      return compareQuantities(more, '0') > 0 ? [[name, more]] : [];
    }),
  );
}
