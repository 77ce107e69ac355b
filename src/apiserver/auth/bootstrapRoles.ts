// The roles and bindings that every cluster has by default, as objects: Kubernetes' own by its names, ours beside them. Pure.
// Guarantees: those of Kubernetes v1.36 are all there; each carries the label and the annotation by which it is reconciled.
import type {
  RbacV1Subject,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1PolicyRule,
  V1Role,
  V1RoleBinding,
} from '../../api/gen/types.js';
import { componentRules } from './defaults/componentRules.js';
import { controllerRules } from './defaults/controllerRules.js';
import { namespaceRoles } from './defaults/namespaceRoles.js';
import { account, group, RBAC, user } from './defaults/subjects.js';
import { trellisBindings, trellisRoles } from './defaults/trellisRoles.js';
import { adminRules, editRules, userRules, viewRules } from './defaults/userRules.js';
import { AUTHENTICATED_GROUP, SUPERUSER_GROUP, UNAUTHENTICATED_GROUP } from './rbac.js';

export const AUTO_UPDATE = 'rbac.authorization.kubernetes.io/autoupdate';
const BOOTSTRAP_LABELS = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
const AGGREGATE_TO = 'rbac.authorization.k8s.io/aggregate-to-';
const METRICS_READER = 'system:aggregated-metrics-reader';
const CONTROLLER = 'system:controller:';

type Labels = Readonly<Record<string, string>>;

export const bootstrapRoles: readonly V1ClusterRole[] = [
  // With the rules that aggregation comes to, so that they hold before the controller has run.
  aggregated('admin', [...adminRules, ...editRules, ...viewRules]),
  aggregated('edit', [...editRules, ...viewRules], 'admin'),
  aggregated('view', viewRules, 'edit'),
  role('system:aggregate-to-admin', adminRules, into('admin')),
  role('system:aggregate-to-edit', editRules, into('edit')),
  role('system:aggregate-to-view', viewRules, into('view')),
  ...Object.entries({ ...userRules, ...componentRules }).map(([name, rules]) =>
    role(name, rules, name === METRICS_READER ? into('admin', 'edit', 'view') : {}),
  ),
  ...Object.entries(controllerRules).map(([name, rules]) => role(`${CONTROLLER}${name}`, rules)),
  ...trellisRoles.map(({ name, rules }) => role(name, rules)),
];

export const bootstrapBindings: readonly V1ClusterRoleBinding[] = [
  binding('cluster-admin', [group(SUPERUSER_GROUP)]),
  binding('system:basic-user', [group(AUTHENTICATED_GROUP)]),
  binding('system:discovery', [group(AUTHENTICATED_GROUP)]),
  binding('system:public-info-viewer', [group(AUTHENTICATED_GROUP), group(UNAUTHENTICATED_GROUP)]),
  binding('system:monitoring', [group('system:monitoring')]),
  binding('system:service-account-issuer-discovery', [group('system:serviceaccounts')]),
  binding('system:node', []),
  binding('system:node-proxier', [user('system:kube-proxy')]),
  binding('system:kube-dns', [account('kube-dns')]),
  binding('system:kube-scheduler', [user('system:kube-scheduler')]),
  binding('system:volume-scheduler', [user('system:kube-scheduler')]),
  binding('system:kube-controller-manager', [user('system:kube-controller-manager')]),
  ...Object.keys(controllerRules).map((name) => binding(`${CONTROLLER}${name}`, [account(name)])),
  ...trellisRoles.map(({ name, subjects }) => binding(name, subjects)),
  ...trellisBindings.map(({ name, role: of, subjects }) => binding(name, subjects, of)),
];

export const bootstrapNamespaceRoles: readonly V1Role[] = namespaceRoles.map(
  ({ name, namespace, rules }) => ({
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata: { ...metadataOf(name), namespace },
    rules,
  }),
);

export const bootstrapNamespaceBindings: readonly V1RoleBinding[] = namespaceRoles.map(
  ({ name, namespace, subjects, binding: called = name }) => ({
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { ...metadataOf(called), namespace },
    roleRef: { apiGroup: RBAC, kind: 'Role', name },
    subjects,
  }),
);

function role(name: string, rules: readonly V1PolicyRule[], labels: Labels = {}): V1ClusterRole {
  return { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: metadataOf(name, labels), rules };
}

/** A role that takes in the rules of those labelled for it, and may itself be taken in by another. */
function aggregated(name: string, rules: readonly V1PolicyRule[], by?: string): V1ClusterRole {
  const labels = by === undefined ? {} : into(by);
  return {
    ...role(name, rules, labels),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: into(name) }] },
  };
}

function binding(name: string, subjects: readonly RbacV1Subject[], of = name): V1ClusterRoleBinding {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: metadataOf(name),
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: of },
    subjects,
  };
}

function into(...roles: readonly string[]): Labels {
  return Object.fromEntries(roles.map((name) => [`${AGGREGATE_TO}${name}`, 'true']));
}

function metadataOf(name: string, labels: Labels = {}) {
  return { name, labels: { ...BOOTSTRAP_LABELS, ...labels }, annotations: { [AUTO_UPDATE]: 'true' } };
}
