// How maps and structs merge under server-side apply: the facts that the schemas do not hold. Pure data.
// Guarantees: a map or struct that is not named here is granular. Lists are in src/api/mergedLists.ts.

const ATOMIC_MAPS = new Set([
  'V1PodSpec.nodeSelector',
  'V1ServiceSpec.selector',
  'V1ReplicationControllerSpec.selector',
  'V1Scheduling.nodeSelector',
]);

const ATOMIC_STRUCTS = new Set([
  'CoreV1EndpointPort',
  'DiscoveryV1EndpointPort',
  'RbacV1Subject',
  'V1ConfigMapKeySelector',
  'V1CrossVersionObjectReference',
  'V1EndpointAddress',
  'V1FileKeySelector',
  'V1LabelSelector',
  'V1LocalObjectReference',
  'V1NodeSelector',
  'V1NodeSelectorTerm',
  'V1ObjectFieldSelector',
  'V1ObjectReference',
  'V1OwnerReference',
  'V1ResourceFieldSelector',
  'V1RoleRef',
  'V1ScopeSelector',
  'V1ScopedResourceSelectorRequirement',
  'V1SecretKeySelector',
  'V1SecretReference',
  'V1ServiceBackendPort',
  'V1TopologySelectorTerm',
  'V1TypedLocalObjectReference',
]);

// Structs that Go keeps by value: they are always there, so nobody comes to own them by writing them first.
const PLAIN_STRUCTS = new Set([
  'daemonEndpoints',
  'jobTemplate',
  'kubeletEndpoint',
  'lastState',
  'loadBalancer',
  'metadata',
  'nodeInfo',
  'resources',
  'spec',
  'state',
  'status',
  'strategy',
  'template',
  'updateStrategy',
]);

export const isAtomicMap = (model: string, field: string): boolean => ATOMIC_MAPS.has(`${model}.${field}`);
export const isPlainStruct = (field: string): boolean => PLAIN_STRUCTS.has(field);

/** PersistentVolumeSpec.claimRef is written by two parties, so it merges although references do not. */
export const isAtomicStruct = (model: string, field: string): boolean =>
  ATOMIC_STRUCTS.has(model) && field !== 'claimRef';

/** Part of a key that may be left out: what it is then. */
export const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: 'TCP' };

/** Every map and model named here, so that a test can hold them against the schemas. */
export const namedMaps: readonly string[] = [...ATOMIC_MAPS];
export const namedModels: readonly string[] = [...ATOMIC_STRUCTS];
