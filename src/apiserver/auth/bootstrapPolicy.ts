// The default roles and bindings, brought into the cluster at start and repaired when something of them is missing.
// Guarantees: idempotent; adds what is missing, keeps what an administrator added; autoupdate=false leaves an object alone.
import type { RbacV1Subject, V1ClusterRole, V1ClusterRoleBinding } from '../../api/gen/types.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, type ResourceType } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import { AUTO_UPDATE, BOOTSTRAP_LABELS, bootstrapRoles } from './bootstrapRoles.js';
import { uncoveredRules } from './coverage.js';
import { AUTHENTICATED_GROUP, SUPERUSER_GROUP, UNAUTHENTICATED_GROUP } from './rbac.js';

const RBAC = 'rbac.authorization.k8s.io';
const group = (name: string): RbacV1Subject => ({ kind: 'Group', apiGroup: RBAC, name });
const user = (name: string): RbacV1Subject => ({ kind: 'User', apiGroup: RBAC, name });

export const bootstrapBindings: readonly V1ClusterRoleBinding[] = [
  binding('cluster-admin', [group(SUPERUSER_GROUP)]),
  binding('system:basic-user', [group(AUTHENTICATED_GROUP)]),
  binding('system:discovery', [group(AUTHENTICATED_GROUP)]),
  binding('system:public-info-viewer', [group(AUTHENTICATED_GROUP), group(UNAUTHENTICATED_GROUP)]),
  binding('system:monitoring', [group('system:monitoring')]),
  binding('system:service-account-issuer-discovery', [group('system:serviceaccounts')]),
  binding('system:node', []),
  binding('system:node-proxier', [user('system:kube-proxy')]),
  binding('system:kube-dns', [{ kind: 'ServiceAccount', name: 'kube-dns', namespace: 'kube-system' }]),
  binding('system:kube-scheduler', [user('system:kube-scheduler')]),
  binding('system:kube-controller-manager', [user('system:kube-controller-manager')]),
];

/** The names of what was created or repaired; empty on a cluster that has it all. */
export async function reconcileBootstrapPolicy(client: Client): Promise<readonly string[]> {
  const changed: string[] = [];
  for (const role of bootstrapRoles)
    if (await reconcile(client, CLUSTER_ROLES, role, repairedRole))
      changed.push(`clusterrole/${nameOf(role)}`);
  for (const one of bootstrapBindings)
    if (await reconcile(client, CLUSTER_ROLE_BINDINGS, one, repairedBinding))
      changed.push(`clusterrolebinding/${nameOf(one)}`);
  return changed;
}

/** The role with what it lacks added, or undefined when it lacks nothing. */
export function repairedRole(
  existing: Stored<V1ClusterRole>,
  wanted: V1ClusterRole,
): V1ClusterRole | undefined {
  const missing = uncoveredRules(existing.rules ?? [], wanted.rules ?? []).length > 0;
  const unlabelled = lacks(existing.metadata.labels, wanted.metadata?.labels);
  const unaggregated = wanted.aggregationRule !== undefined && existing.aggregationRule === undefined;
  if (!missing && !unlabelled && !unaggregated) return undefined;
  return {
    ...existing,
    metadata: { ...existing.metadata, labels: { ...existing.metadata.labels, ...wanted.metadata?.labels } },
    ...(missing ? { rules: addedRules(existing, wanted) } : {}),
    ...(unaggregated ? { aggregationRule: wanted.aggregationRule } : {}),
  };
}

function addedRules(existing: Stored<V1ClusterRole>, wanted: V1ClusterRole) {
  const held = existing.rules ?? [];
  return [...held, ...(wanted.rules ?? []).filter((rule) => uncoveredRules(held, [rule]).length > 0)];
}

/** The binding with the subjects it lacks added, or undefined when it lacks none. */
export function repairedBinding(
  existing: Stored<V1ClusterRoleBinding>,
  wanted: V1ClusterRoleBinding,
): V1ClusterRoleBinding | undefined {
  const held = new Set((existing.subjects ?? []).map(subjectId));
  const missing = (wanted.subjects ?? []).filter((subject) => !held.has(subjectId(subject)));
  const unlabelled = lacks(existing.metadata.labels, wanted.metadata?.labels);
  if (missing.length === 0 && !unlabelled) return undefined;
  return {
    ...existing,
    metadata: { ...existing.metadata, labels: { ...existing.metadata.labels, ...wanted.metadata?.labels } },
    subjects: [...(existing.subjects ?? []), ...missing],
  };
}

async function reconcile<T extends KubeObject>(
  client: Client,
  type: ResourceType<T>,
  wanted: T,
  repair: (existing: Stored<T>, wanted: T) => T | undefined,
): Promise<boolean> {
  const resource = client.of(type);
  const existing = await resource.get({ name: nameOf(wanted) }).catch((error: unknown) => {
    if (ApiError.is(error, 'NotFound')) return undefined;
    throw error;
  });
  try {
    if (existing === undefined) {
      await resource.create(wanted);
      return true;
    }
    if (existing.metadata.annotations?.[AUTO_UPDATE] === 'false') return false;
    const repaired = repair(existing, wanted);
    if (repaired === undefined) return false;
    await resource.update(repaired);
    return true;
  } catch (error) {
    // A second apiserver on the same store does the same work at the same time.
    if (ApiError.is(error, 'AlreadyExists', 'Conflict')) return false;
    throw error;
  }
}

function binding(name: string, subjects: readonly RbacV1Subject[]): V1ClusterRoleBinding {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name, labels: BOOTSTRAP_LABELS, annotations: { [AUTO_UPDATE]: 'true' } },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    subjects,
  };
}

function lacks(
  held: Readonly<Record<string, string>> = {},
  wanted: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(wanted).some(([key, value]) => held[key] !== value);
}

const subjectId = ({ kind, namespace = '', name }: RbacV1Subject) => `${kind}/${namespace}/${name}`;
const nameOf = (object: KubeObject) => object.metadata?.name ?? '';
