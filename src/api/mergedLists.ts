// Which lists merge item by item, under a strategic merge patch and under server-side apply: the one fact of a field that the
// schemas do not hold. Pure data.
// Guarantees: a list that is not named here is replaced whole, as in Kubernetes.

interface MergedList {
  /** The members that together identify an item; none for a list of plain values. A patch goes by the first alone. */
  readonly keys: readonly string[];
  readonly under: 'both' | 'patch' | 'apply';
}

/** Of a strategic merge patch. */
export interface MergeRule {
  /** The member that identifies an element; absent for lists of plain values. */
  readonly key?: string;
}

/** Of server-side apply. */
interface ListType {
  /** The members that together identify an item; empty for a set of plain values. */
  readonly keys: readonly string[];
}

const by = (...keys: string[]): MergedList => ({ keys, under: 'both' });
const applyBy = (...keys: string[]): MergedList => ({ keys, under: 'apply' });
const patchBy = (...keys: string[]): MergedList => ({ keys, under: 'patch' });

const CONTAINER = {
  ports: by('containerPort', 'protocol'),
  env: by('name'),
  volumeMounts: by('mountPath'),
  volumeDevices: by('devicePath'),
};
const CONDITIONS = { conditions: by('type') };
const WEBHOOKS = { webhooks: by('name') };

const MODELS: Readonly<Record<string, Readonly<Record<string, MergedList>>>> = {
  V1ObjectMeta: { ownerReferences: by('uid'), finalizers: by() },
  V1PodSpec: {
    volumes: by('name'),
    containers: by('name'),
    initContainers: by('name'),
    ephemeralContainers: by('name'),
    imagePullSecrets: by('name'),
    hostAliases: by('ip'),
    topologySpreadConstraints: by('topologyKey', 'whenUnsatisfiable'),
    resourceClaims: by('name'),
    schedulingGates: by('name'),
  },
  V1Container: CONTAINER,
  V1EphemeralContainer: CONTAINER,
  V1ResourceRequirements: { claims: applyBy('name') },
  V1ContainerStatus: { volumeMounts: by('mountPath'), allocatedResourcesStatus: applyBy('name') },
  V1ResourceStatus: { resources: applyBy('resourceID') },
  V1PodStatus: { ...CONDITIONS, podIPs: by('ip'), hostIPs: patchBy('ip'), resourceClaimStatuses: by('name') },
  V1NodeSpec: { podCIDRs: by() },
  V1NodeStatus: { ...CONDITIONS, addresses: by('type') },
  V1ServiceSpec: { ports: by('port', 'protocol') },
  V1ServiceStatus: CONDITIONS,
  V1ServiceAccount: { secrets: by('name') },
  V1NamespaceStatus: CONDITIONS,
  V1PersistentVolumeClaimStatus: CONDITIONS,
  V1ReplicationControllerStatus: CONDITIONS,
  V1DaemonSetStatus: CONDITIONS,
  V1DeploymentStatus: CONDITIONS,
  V1ReplicaSetStatus: CONDITIONS,
  V1StatefulSetStatus: CONDITIONS,
  // One value under apply: its controller alone writes them.
  V1JobStatus: { conditions: patchBy('type') },
  V1UncountedTerminatedPods: { succeeded: applyBy(), failed: applyBy() },
  V1PodDisruptionBudgetStatus: CONDITIONS,
  V2HorizontalPodAutoscalerStatus: CONDITIONS,
  V1FlowSchemaStatus: CONDITIONS,
  V1PriorityLevelConfigurationStatus: CONDITIONS,
  V1APIServiceStatus: { conditions: patchBy('type') },
  V1CertificateSigningRequestStatus: { conditions: applyBy('type') },
  V1Endpoint: { addresses: applyBy() },
  V1CSINodeSpec: { drivers: by('name') },
  V1CSIDriverSpec: { volumeLifecycleModes: applyBy() },
  V1MutatingWebhookConfiguration: WEBHOOKS,
  V1ValidatingWebhookConfiguration: WEBHOOKS,
};

const LISTS: ReadonlyMap<string, MergedList> = new Map(
  Object.entries(MODELS).flatMap(([model, fields]) =>
    Object.entries(fields).map(([field, list]): [string, MergedList] => [`${model}.${field}`, list]),
  ),
);

/** Undefined for lists that a patch replaces whole. */
export function mergeRule(model: string | undefined, field: string): MergeRule | undefined {
  const list = LISTS.get(`${model}.${field}`);
  if (list === undefined || list.under === 'apply') return undefined;
  const [key] = list.keys;
  return key === undefined ? {} : { key };
}

/** Undefined for lists that are atomic under apply. */
export function listType(model: string, field: string): ListType | undefined {
  const list = LISTS.get(`${model}.${field}`);
  return list === undefined || list.under === 'patch' ? undefined : list;
}

/** Every list that merges, as `Model.field`: lets a test hold the table against the schemas. */
export const mergedLists: readonly string[] = [...LISTS.keys()];
