// The rights that people and workloads are given: the rules behind admin, edit and view, and what everybody may. Pure.
// Guarantees: view reads no Secrets and no RBAC; edit writes neither RBAC nor quotas; admin adds RBAC inside a namespace.
import type { V1PolicyRule } from '../../../api/gen/types.js';
import { pathRule, READ, READ_WRITE, rule, WRITE } from '../policyRule.js';

export const viewRules: readonly V1PolicyRule[] = [
  rule(
    '',
    'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
    READ,
  ),
  rule(
    '',
    'bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status',
    READ,
  ),
  rule('', 'namespaces', READ),
  rule(',events.k8s.io', 'events', READ),
  rule('discovery.k8s.io', 'endpointslices', READ),
  rule(
    'apps',
    'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
    READ,
  ),
  rule('autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status', READ),
  rule('batch', 'cronjobs cronjobs/status jobs jobs/status', READ),
  rule(
    'extensions',
    'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
    READ,
  ),
  rule('policy', 'poddisruptionbudgets poddisruptionbudgets/status', READ),
  rule('networking.k8s.io', 'ingresses ingresses/status networkpolicies', READ),
  rule('resource.k8s.io', 'resourceclaims resourceclaims/status resourceclaimtemplates', READ),
];

export const editRules: readonly V1PolicyRule[] = [
  rule('', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy', READ),
  rule('', 'serviceaccounts', 'impersonate'),
  rule('', 'pods pods/attach pods/exec pods/portforward pods/proxy', WRITE),
  rule('', 'pods/eviction', 'create'),
  rule(
    '',
    'configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy',
    WRITE,
  ),
  rule('', 'serviceaccounts/token', 'create'),
  rule(',events.k8s.io', 'events', WRITE),
  rule(
    'apps',
    'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale',
    WRITE,
  ),
  rule('autoscaling', 'horizontalpodautoscalers', WRITE),
  rule('batch', 'cronjobs jobs', WRITE),
  rule(
    'extensions',
    'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale',
    WRITE,
  ),
  rule('policy', 'poddisruptionbudgets', WRITE),
  rule('networking.k8s.io', 'ingresses networkpolicies', WRITE),
  rule('coordination.k8s.io', 'leases', READ_WRITE),
  rule('resource.k8s.io', 'resourceclaims resourceclaimtemplates', WRITE),
];

export const adminRules: readonly V1PolicyRule[] = [
  rule('authorization.k8s.io', 'localsubjectaccessreviews', 'create'),
  rule('rbac.authorization.k8s.io', 'rolebindings roles', READ_WRITE),
];

const HEALTH = ['/healthz', '/livez', '/readyz', '/version', '/version/'];

/** By the name of the ClusterRole. */
export const userRules: Readonly<Record<string, readonly V1PolicyRule[]>> = {
  'cluster-admin': [rule('*', '*', '*'), pathRule('*', '*')],
  'system:basic-user': [
    rule('authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews', 'create'),
    rule('authentication.k8s.io', 'selfsubjectreviews', 'create'),
  ],
  'system:discovery': [pathRule(['/api', '/api/*', '/apis', '/apis/*', ...HEALTH, '/openapi', '/openapi/*'])],
  'system:public-info-viewer': [pathRule(HEALTH)],
  'system:monitoring': [
    pathRule('/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz'),
    rule('', 'nodes/metrics', 'get'),
  ],
  'system:service-account-issuer-discovery': [
    pathRule(
      '/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/',
    ),
  ],
  // Served by this apiserver itself; metrics-server has the same role.
  'system:aggregated-metrics-reader': [rule('metrics.k8s.io', 'nodes pods', READ)],
};
