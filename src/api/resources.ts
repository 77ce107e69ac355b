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
export function apiVersionOf({ group, version }: ResourceType): string {
  return group === '' ? version : `${group}/${version}`;
}

export const NAMESPACES = define<k.V1Namespace>('v1', 'Namespace', 'namespaces', 'cluster');
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
