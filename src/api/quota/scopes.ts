// Which objects a ResourceQuota counts, and which fields it requires of them. Pure.
import type {
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodSpec,
  V1ResourceQuota,
  V1ScopedResourceSelectorRequirement,
} from '../gen/types.js';
import { qosClassOf } from '../kinds/pod/qos.js';
import type { KubeObject } from '../object.js';
import type { ResourceType } from '../resources.js';

type Spec = NonNullable<V1ResourceQuota['spec']>;

/** A quota with scopes speaks of pods, or by their attributes' class of claims, and of nothing else. */
export function isInScope(
  spec: Spec,
  type: Pick<ResourceType, 'group' | 'resource'>,
  object: KubeObject,
): boolean {
  const wanted: readonly V1ScopedResourceSelectorRequirement[] = [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
  if (wanted.length === 0) return true;
  if (type.group !== '') return false;
  if (type.resource === 'persistentvolumeclaims')
    return wanted.every((one) => claimMatches(one, object as V1PersistentVolumeClaim));
  return type.resource === 'pods' && wanted.every((one) => podMatches(one, object as V1Pod));
}

/** While its volume changes from one class to another, a claim is of both. */
function claimMatches(
  { scopeName, operator, values }: V1ScopedResourceSelectorRequirement,
  claim: V1PersistentVolumeClaim,
): boolean {
  if (scopeName !== 'VolumeAttributesClass') return false;
  const names = attributesClasses(claim);
  // One without a class is held against the selector too: it is not in any list.
  return (names.length === 0 ? [''] : names).some((name) => nameMatches(name, operator, values ?? []));
}

/** The classes that a claim asks for, has, or is on the way to. */
export function attributesClasses({ spec, status }: V1PersistentVolumeClaim): readonly string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names)].filter((name) => name !== undefined && name !== '') as string[];
}

function podMatches({ scopeName, operator, values = [] }: V1ScopedResourceSelectorRequirement, pod: V1Pod) {
  const spec: Partial<V1PodSpec> = pod.spec ?? {};
  const isTerminating = spec.activeDeadlineSeconds !== undefined && spec.activeDeadlineSeconds >= 0;
  const isBestEffort = () => qosClassOf(spec as V1PodSpec) === 'BestEffort';
  switch (scopeName) {
    case 'Terminating':
      return isTerminating;
    case 'NotTerminating':
      return !isTerminating;
    case 'BestEffort':
      return isBestEffort();
    case 'NotBestEffort':
      return !isBestEffort();
    case 'CrossNamespacePodAffinity':
      return reachesOtherNamespaces(spec);
    case 'PriorityClass':
      return nameMatches(spec.priorityClassName ?? '', operator, values);
    default:
      return false;
  }
}

function nameMatches(name: string, operator: string, values: readonly string[]): boolean {
  if (operator === 'Exists') return name !== '';
  if (operator === 'DoesNotExist') return name === '';
  if (operator === 'In') return values.includes(name);
  return operator === 'NotIn' && !values.includes(name);
}

function reachesOtherNamespaces({ affinity }: Partial<V1PodSpec>): boolean {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some((one) =>
    [
      ...(one?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(one?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
        ({ podAffinityTerm }) => podAffinityTerm,
      ),
    ].some(
      (term) => (term?.namespaces?.length ?? 0) > 0 || (term?.namespaceSelector ?? undefined) !== undefined,
    ),
  );
}

const COMPUTE = /^(?:(requests|limits)\.)?(cpu|memory)$/;

/** The sentences of what each container must say, since without it the quota could not count: `limits.cpu for: a,b`. */
export function missingDemands(spec: Spec, { spec: pod }: V1Pod): string[] {
  const containers = [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])];
  return Object.keys(spec.hard ?? {})
    .sort()
    .flatMap((name) => {
      const [, side = 'requests', resource = ''] = COMPUTE.exec(name) ?? [];
      if (resource === '') return [];
      const silent = containers.filter(
        ({ resources }) =>
          (resources?.[side as 'requests' | 'limits'] as Record<string, string> | undefined)?.[resource] ===
          undefined,
      );
      return silent.length === 0
        ? []
        : [`${name} for: ${[...new Set(silent.map((container) => container.name))].sort().join(',')}`];
    });
}
