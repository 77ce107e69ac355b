// The resources of the API as typed names: what a client asks for and a server routes by. Pure.
// Guarantees: one constant a resource; its type parameter is the object that travels.
import type * as k from './gen/types.js';
import type { KubeObject } from './object.js';

export interface ResourceType<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural, as in URLs. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Carries the type only; never set. */
  readonly object?: T;
}

/** What tells a resource from all others. */
export type GroupVersionResource = Pick<ResourceType, 'group' | 'version' | 'resource'>;

function define<T extends KubeObject>(
  apiVersion: string,
  kind: string,
  resource: string,
  scope: 'namespaced' | 'cluster',
): ResourceType<T> {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return Object.freeze({ group, version, resource, kind, namespaced: scope === 'namespaced' });
}

/** `v1` or `apps/v1`. */
export function apiVersionOf({ group, version }: Pick<ResourceType, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

export const NAMESPACES = define<k.V1Namespace>('v1', 'Namespace', 'namespaces', 'cluster');
export const COMPONENT_STATUSES = define<k.V1ComponentStatus>(
  'v1',
  'ComponentStatus',
  'componentstatuses',
  'cluster',
);
/** What the scheduler posts; nothing of it is kept. */
export const BINDINGS = define<k.V1Binding>('v1', 'Binding', 'bindings', 'namespaced');
export const NODES = define<k.V1Node>('v1', 'Node', 'nodes', 'cluster');
export const PODS = define<k.V1Pod>('v1', 'Pod', 'pods', 'namespaced');
export const SERVICES = define<k.V1Service>('v1', 'Service', 'services', 'namespaced');
export const ENDPOINTS = define<k.V1Endpoints>('v1', 'Endpoints', 'endpoints', 'namespaced');
export const CONFIG_MAPS = define<k.V1ConfigMap>('v1', 'ConfigMap', 'configmaps', 'namespaced');
export const SECRETS = define<k.V1Secret>('v1', 'Secret', 'secrets', 'namespaced');
export const SERVICE_ACCOUNTS = define<k.V1ServiceAccount>(
  'v1',
  'ServiceAccount',
  'serviceaccounts',
  'namespaced',
);
export const PERSISTENT_VOLUMES = define<k.V1PersistentVolume>(
  'v1',
  'PersistentVolume',
  'persistentvolumes',
  'cluster',
);
export const PERSISTENT_VOLUME_CLAIMS = define<k.V1PersistentVolumeClaim>(
  'v1',
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
  'namespaced',
);
export const LIMIT_RANGES = define<k.V1LimitRange>('v1', 'LimitRange', 'limitranges', 'namespaced');
export const RESOURCE_QUOTAS = define<k.V1ResourceQuota>(
  'v1',
  'ResourceQuota',
  'resourcequotas',
  'namespaced',
);
export const REPLICATION_CONTROLLERS = define<k.V1ReplicationController>(
  'v1',
  'ReplicationController',
  'replicationcontrollers',
  'namespaced',
);
export const POD_TEMPLATES = define<k.V1PodTemplate>('v1', 'PodTemplate', 'podtemplates', 'namespaced');
export const EVENTS = define<k.CoreV1Event>('v1', 'Event', 'events', 'namespaced');
export const LEASES = define<k.V1Lease>('coordination.k8s.io/v1', 'Lease', 'leases', 'namespaced');
export const ENDPOINT_SLICES = define<k.V1EndpointSlice>(
  'discovery.k8s.io/v1',
  'EndpointSlice',
  'endpointslices',
  'namespaced',
);
export const DEPLOYMENTS = define<k.V1Deployment>('apps/v1', 'Deployment', 'deployments', 'namespaced');
export const REPLICA_SETS = define<k.V1ReplicaSet>('apps/v1', 'ReplicaSet', 'replicasets', 'namespaced');
export const STATEFUL_SETS = define<k.V1StatefulSet>('apps/v1', 'StatefulSet', 'statefulsets', 'namespaced');
export const DAEMON_SETS = define<k.V1DaemonSet>('apps/v1', 'DaemonSet', 'daemonsets', 'namespaced');
export const CONTROLLER_REVISIONS = define<k.V1ControllerRevision>(
  'apps/v1',
  'ControllerRevision',
  'controllerrevisions',
  'namespaced',
);
export const JOBS = define<k.V1Job>('batch/v1', 'Job', 'jobs', 'namespaced');
export const CRON_JOBS = define<k.V1CronJob>('batch/v1', 'CronJob', 'cronjobs', 'namespaced');

const HPA = ['HorizontalPodAutoscaler', 'horizontalpodautoscalers', 'namespaced'] as const;
export const HORIZONTAL_POD_AUTOSCALERS = define<k.V2HorizontalPodAutoscaler>('autoscaling/v2', ...HPA);
/** The same objects as HORIZONTAL_POD_AUTOSCALERS, in their older form. */
export const HORIZONTAL_POD_AUTOSCALERS_V1 = define<k.V1HorizontalPodAutoscaler>('autoscaling/v1', ...HPA);
/** The same objects as EVENTS, in the words of their own group. */
export const GROUPED_EVENTS = define<k.EventsV1Event>('events.k8s.io/v1', 'Event', 'events', 'namespaced');

const NETWORKING = 'networking.k8s.io/v1';
export const NETWORK_POLICIES = define<k.V1NetworkPolicy>(
  NETWORKING,
  'NetworkPolicy',
  'networkpolicies',
  'namespaced',
);
export const INGRESSES = define<k.V1Ingress>(NETWORKING, 'Ingress', 'ingresses', 'namespaced');
export const INGRESS_CLASSES = define<k.V1IngressClass>(
  NETWORKING,
  'IngressClass',
  'ingressclasses',
  'cluster',
);
export const IP_ADDRESSES = define<k.V1IPAddress>(NETWORKING, 'IPAddress', 'ipaddresses', 'cluster');
export const SERVICE_CIDRS = define<k.V1ServiceCIDR>(NETWORKING, 'ServiceCIDR', 'servicecidrs', 'cluster');
export const POD_DISRUPTION_BUDGETS = define<k.V1PodDisruptionBudget>(
  'policy/v1',
  'PodDisruptionBudget',
  'poddisruptionbudgets',
  'namespaced',
);

const STORAGE = 'storage.k8s.io/v1';
export const STORAGE_CLASSES = define<k.V1StorageClass>(STORAGE, 'StorageClass', 'storageclasses', 'cluster');
export const VOLUME_ATTACHMENTS = define<k.V1VolumeAttachment>(
  STORAGE,
  'VolumeAttachment',
  'volumeattachments',
  'cluster',
);
export const CSI_DRIVERS = define<k.V1CSIDriver>(STORAGE, 'CSIDriver', 'csidrivers', 'cluster');
export const CSI_NODES = define<k.V1CSINode>(STORAGE, 'CSINode', 'csinodes', 'cluster');
export const CSI_STORAGE_CAPACITIES = define<k.V1CSIStorageCapacity>(
  STORAGE,
  'CSIStorageCapacity',
  'csistoragecapacities',
  'namespaced',
);
export const VOLUME_ATTRIBUTES_CLASSES = define<k.V1VolumeAttributesClass>(
  STORAGE,
  'VolumeAttributesClass',
  'volumeattributesclasses',
  'cluster',
);

export const CERTIFICATE_SIGNING_REQUESTS = define<k.V1CertificateSigningRequest>(
  'certificates.k8s.io/v1',
  'CertificateSigningRequest',
  'certificatesigningrequests',
  'cluster',
);
export const PRIORITY_CLASSES = define<k.V1PriorityClass>(
  'scheduling.k8s.io/v1',
  'PriorityClass',
  'priorityclasses',
  'cluster',
);

const FLOW_CONTROL = 'flowcontrol.apiserver.k8s.io/v1';
export const FLOW_SCHEMAS = define<k.V1FlowSchema>(FLOW_CONTROL, 'FlowSchema', 'flowschemas', 'cluster');
export const PRIORITY_LEVEL_CONFIGURATIONS = define<k.V1PriorityLevelConfiguration>(
  FLOW_CONTROL,
  'PriorityLevelConfiguration',
  'prioritylevelconfigurations',
  'cluster',
);
export const RUNTIME_CLASSES = define<k.V1RuntimeClass>(
  'node.k8s.io/v1',
  'RuntimeClass',
  'runtimeclasses',
  'cluster',
);

const DEVICES = 'resource.k8s.io/v1';
export const DEVICE_CLASSES = define<k.V1DeviceClass>(DEVICES, 'DeviceClass', 'deviceclasses', 'cluster');
export const RESOURCE_CLAIMS = define<k.ResourceV1ResourceClaim>(
  DEVICES,
  'ResourceClaim',
  'resourceclaims',
  'namespaced',
);
export const RESOURCE_CLAIM_TEMPLATES = define<k.V1ResourceClaimTemplate>(
  DEVICES,
  'ResourceClaimTemplate',
  'resourceclaimtemplates',
  'namespaced',
);
export const RESOURCE_SLICES = define<k.V1ResourceSlice>(
  DEVICES,
  'ResourceSlice',
  'resourceslices',
  'cluster',
);

const RBAC = 'rbac.authorization.k8s.io/v1';
export const ROLES = define<k.V1Role>(RBAC, 'Role', 'roles', 'namespaced');
export const ROLE_BINDINGS = define<k.V1RoleBinding>(RBAC, 'RoleBinding', 'rolebindings', 'namespaced');
export const CLUSTER_ROLES = define<k.V1ClusterRole>(RBAC, 'ClusterRole', 'clusterroles', 'cluster');
export const CLUSTER_ROLE_BINDINGS = define<k.V1ClusterRoleBinding>(
  RBAC,
  'ClusterRoleBinding',
  'clusterrolebindings',
  'cluster',
);

export const CUSTOM_RESOURCE_DEFINITIONS = define<k.V1CustomResourceDefinition>(
  'apiextensions.k8s.io/v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  'cluster',
);
