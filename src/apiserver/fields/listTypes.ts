// How lists, maps and structs merge under server-side apply: the facts that the schemas do not hold. Pure data.
// Guarantees: a list that is not named here is atomic, a map or struct that is not named here is granular.

export interface ListType {
  /** The members that together identify an item; empty for a set of plain values. */
  readonly keys: readonly string[];
}

const CONTAINER = {
  ports: ['containerPort', 'protocol'],
  env: ['name'],
  volumeMounts: ['mountPath'],
  volumeDevices: ['devicePath'],
};

const KEYED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  V1ObjectMeta: { ownerReferences: ['uid'] },
  V1PodSpec: {
    volumes: ['name'],
    containers: ['name'],
    initContainers: ['name'],
    ephemeralContainers: ['name'],
    imagePullSecrets: ['name'],
    hostAliases: ['ip'],
    topologySpreadConstraints: ['topologyKey', 'whenUnsatisfiable'],
    resourceClaims: ['name'],
    schedulingGates: ['name'],
  },
  V1Container: CONTAINER,
  V1EphemeralContainer: CONTAINER,
  V1ResourceRequirements: { claims: ['name'] },
  V1ContainerStatus: { volumeMounts: ['mountPath'], allocatedResourcesStatus: ['name'] },
  V1ResourceStatus: { resources: ['resourceID'] },
  V1PodStatus: { podIPs: ['ip'], resourceClaimStatuses: ['name'] },
  V1NodeStatus: { addresses: ['type'] },
  V1ServiceSpec: { ports: ['port', 'protocol'] },
  V1ServiceAccount: { secrets: ['name'] },
  V1CSINodeSpec: { drivers: ['name'] },
  V1MutatingWebhookConfiguration: { webhooks: ['name'] },
  V1ValidatingWebhookConfiguration: { webhooks: ['name'] },
};

// The conditions of a Job are one value: its controller alone writes them.
const CONDITIONS = [
  'V1DaemonSet',
  'V1Deployment',
  'V1FlowSchema',
  'V1PriorityLevelConfiguration',
  'V1Namespace',
  'V1Node',
  'V1PersistentVolumeClaim',
  'V1Pod',
  'V1PodDisruptionBudget',
  'V1ReplicaSet',
  'V1ReplicationController',
  'V1Service',
  'V1StatefulSet',
  'V1CertificateSigningRequest',
  'V2HorizontalPodAutoscaler',
];

const SETS: Readonly<Record<string, readonly string[]>> = {
  V1ObjectMeta: ['finalizers'],
  V1NodeSpec: ['podCIDRs'],
  V1Endpoint: ['addresses'],
  V1CSIDriverSpec: ['volumeLifecycleModes'],
  V1UncountedTerminatedPods: ['succeeded', 'failed'],
};

const LISTS: ReadonlyMap<string, ListType> = new Map([
  ...Object.entries(KEYED).flatMap(([model, lists]) =>
    Object.entries(lists).map(([field, keys]): [string, ListType] => [`${model}.${field}`, { keys }]),
  ),
  ...Object.entries(SETS).flatMap(([model, fields]) =>
    fields.map((field): [string, ListType] => [`${model}.${field}`, { keys: [] }]),
  ),
  ...CONDITIONS.map((model): [string, ListType] => [`${model}Status.conditions`, { keys: ['type'] }]),
]);

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

export const listType = (model: string, field: string): ListType | undefined =>
  LISTS.get(`${model}.${field}`);
export const isAtomicMap = (model: string, field: string): boolean => ATOMIC_MAPS.has(`${model}.${field}`);
export const isPlainStruct = (field: string): boolean => PLAIN_STRUCTS.has(field);

/** PersistentVolumeSpec.claimRef is written by two parties, so it merges although references do not. */
export const isAtomicStruct = (model: string, field: string): boolean =>
  ATOMIC_STRUCTS.has(model) && field !== 'claimRef';

/** Part of a key that may be left out: what it is then. */
export const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: 'TCP' };

/** Every list and model named here, so that a test can hold them against the schemas. */
export const namedLists: readonly string[] = [...LISTS.keys(), ...ATOMIC_MAPS];
export const namedModels: readonly string[] = [...ATOMIC_STRUCTS];
