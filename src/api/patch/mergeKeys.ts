// Which lists a strategic merge patch merges, and by which member. Pure data: the one fact the schemas do not hold.
// Guarantees: a list that is not named here is replaced whole, as in Kubernetes.

export interface MergeRule {
  /** The member that identifies an element; absent for lists of plain values. */
  readonly key?: string;
}

const CONDITIONS = [
  'APIService',
  'DaemonSet',
  'Deployment',
  'FlowSchema',
  'PriorityLevelConfiguration',
  'HorizontalPodAutoscaler',
  'Job',
  'Namespace',
  'Node',
  'PersistentVolumeClaim',
  'Pod',
  'PodDisruptionBudget',
  'ReplicaSet',
  'ReplicationController',
  'Service',
  'StatefulSet',
];

const CONTAINER_LISTS = {
  ports: 'containerPort',
  env: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
};

const KEYED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  V1ObjectMeta: { ownerReferences: 'uid' },
  V1PodSpec: {
    volumes: 'name',
    containers: 'name',
    initContainers: 'name',
    ephemeralContainers: 'name',
    imagePullSecrets: 'name',
    hostAliases: 'ip',
    topologySpreadConstraints: 'topologyKey',
    resourceClaims: 'name',
    schedulingGates: 'name',
  },
  V1Container: CONTAINER_LISTS,
  V1EphemeralContainer: CONTAINER_LISTS,
  V1ContainerStatus: { volumeMounts: 'mountPath' },
  V1PodStatus: { podIPs: 'ip', hostIPs: 'ip', resourceClaimStatuses: 'name' },
  V1NodeStatus: { addresses: 'type' },
  V1ServiceSpec: { ports: 'port' },
  V1ServiceAccount: { secrets: 'name' },
  V1CSINodeSpec: { drivers: 'name' },
  V1MutatingWebhookConfiguration: { webhooks: 'name' },
  V1ValidatingWebhookConfiguration: { webhooks: 'name' },
};

const PLAIN: Readonly<Record<string, readonly string[]>> = {
  V1ObjectMeta: ['finalizers'],
  V1NodeSpec: ['podCIDRs'],
};

const RULES: ReadonlyMap<string, MergeRule> = new Map([
  ...Object.entries(KEYED).flatMap(([model, lists]) =>
    Object.entries(lists).map(([field, key]): [string, MergeRule] => [`${model}.${field}`, { key }]),
  ),
  ...Object.entries(PLAIN).flatMap(([model, fields]) =>
    fields.map((field): [string, MergeRule] => [`${model}.${field}`, {}]),
  ),
  ...CONDITIONS.flatMap((kind) =>
    ['V1', 'V2'].map((version): [string, MergeRule] => [
      `${version}${kind}Status.conditions`,
      { key: 'type' },
    ]),
  ),
]);

/** Undefined for lists that are replaced whole. */
export function mergeRule(model: string | undefined, field: string): MergeRule | undefined {
  return RULES.get(`${model}.${field}`);
}

/** Every list that merges, as `Model.field`: lets a test hold the table against the schemas. */
export const mergedLists: readonly string[] = [...RULES.keys()];
