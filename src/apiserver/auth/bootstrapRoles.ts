// The ClusterRoles that every cluster has for its users and its components, by Kubernetes' names. Pure.
// Guarantees: view reads no Secrets and no RBAC; edit writes neither RBAC nor quotas; admin adds RBAC inside a namespace.
import type { V1ClusterRole, V1PolicyRule } from '../../api/gen/types.js';
import { nodeRules } from './nodeRules.js';
import { pathRule, READ, READ_WRITE, rule, WRITE } from './policyRule.js';

export const BOOTSTRAP_LABELS = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
export const AUTO_UPDATE = 'rbac.authorization.kubernetes.io/autoupdate';
const AGGREGATE_TO = 'rbac.authorization.k8s.io/aggregate-to-';

const RBAC = 'rbac.authorization.k8s.io';
const WORKLOADS = [
  'daemonsets',
  'deployments',
  'deployments/scale',
  'replicasets',
  'replicasets/scale',
  'statefulsets',
  'statefulsets/scale',
];
const EVENTS = rule(',events.k8s.io', ['events'], ['create', 'patch', 'update']);

const viewRules: readonly V1PolicyRule[] = [
  rule(
    '',
    [
      'configmaps',
      'endpoints',
      'persistentvolumeclaims',
      'persistentvolumeclaims/status',
      'pods',
      'replicationcontrollers',
      'replicationcontrollers/scale',
      'serviceaccounts',
      'services',
      'services/status',
    ],
    READ,
  ),
  rule(
    '',
    [
      'events',
      'limitranges',
      'namespaces/status',
      'pods/log',
      'pods/status',
      'replicationcontrollers/status',
      'resourcequotas',
      'resourcequotas/status',
    ],
    READ,
  ),
  rule('', ['namespaces'], READ),
  rule('discovery.k8s.io', ['endpointslices'], READ),
  rule(
    'apps',
    [
      'controllerrevisions',
      ...WORKLOADS,
      'daemonsets/status',
      'deployments/status',
      'replicasets/status',
      'statefulsets/status',
    ],
    READ,
  ),
  rule('autoscaling', ['horizontalpodautoscalers', 'horizontalpodautoscalers/status'], READ),
  rule('batch', ['cronjobs', 'cronjobs/status', 'jobs', 'jobs/status'], READ),
  rule('policy', ['poddisruptionbudgets', 'poddisruptionbudgets/status'], READ),
  rule('networking.k8s.io', ['ingresses', 'ingresses/status', 'networkpolicies'], READ),
];

const editRules: readonly V1PolicyRule[] = [
  rule('', ['pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'secrets', 'services/proxy'], READ),
  rule('', ['serviceaccounts'], ['impersonate']),
  rule('', ['pods', 'pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy'], WRITE),
  rule('', ['pods/eviction'], ['create']),
  rule(
    '',
    [
      'configmaps',
      'events',
      'persistentvolumeclaims',
      'replicationcontrollers',
      'replicationcontrollers/scale',
      'secrets',
      'serviceaccounts',
      'services',
      'services/proxy',
    ],
    WRITE,
  ),
  rule('', ['serviceaccounts/token'], ['create']),
  rule('apps', ['deployments/rollback', ...WORKLOADS], WRITE),
  rule('autoscaling', ['horizontalpodautoscalers'], WRITE),
  rule('batch', ['cronjobs', 'jobs'], WRITE),
  rule('policy', ['poddisruptionbudgets'], WRITE),
  rule('networking.k8s.io', ['ingresses', 'networkpolicies'], WRITE),
  rule('coordination.k8s.io', ['leases'], READ_WRITE),
];

const adminRules: readonly V1PolicyRule[] = [
  rule('authorization.k8s.io', ['localsubjectaccessreviews'], ['create']),
  rule(RBAC, ['rolebindings', 'roles'], READ_WRITE),
];

const schedulerRules: readonly V1PolicyRule[] = [
  EVENTS,
  rule('coordination.k8s.io', ['leases'], ['create', 'get', 'list', 'update', 'watch']),
  rule('', ['nodes', 'namespaces', 'replicationcontrollers', 'services'], READ),
  // Where a volume is to be made, or which one a claim gets, is decided with the node.
  rule('', ['persistentvolumeclaims', 'persistentvolumes'], ['patch', 'update', ...READ]),
  rule('', ['pods'], ['delete', ...READ]),
  rule('', ['pods/binding'], ['create']),
  rule('', ['pods/status'], ['patch', 'update']),
  rule('apps', ['replicasets', 'statefulsets'], READ),
  rule('policy', ['poddisruptionbudgets'], READ),
  rule(
    'storage.k8s.io',
    ['csidrivers', 'csinodes', 'csistoragecapacities', 'storageclasses', 'volumeattachments'],
    READ,
  ),
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
];

// One identity runs all controllers here, so this role holds what Kubernetes spreads over its controllers' accounts.
const controllerManagerRules: readonly V1PolicyRule[] = [
  EVENTS,
  rule('coordination.k8s.io', ['leases'], READ_WRITE),
  rule('*', ['*'], READ),
  // The namespace controller empties namespaces and the garbage collector deletes what lost its owner, of any kind.
  rule('*', ['*'], ['delete', 'deletecollection', 'patch', 'update']),
  rule(
    '',
    [
      'configmaps',
      'endpoints',
      'namespaces',
      'persistentvolumeclaims',
      'persistentvolumes',
      'pods',
      'secrets',
      'serviceaccounts',
      'services',
    ],
    ['create'],
  ),
  rule('', ['serviceaccounts/token', 'pods/eviction', 'pods/binding'], ['create']),
  // Aggregated roles hold rights that their controller does not have.
  rule(RBAC, ['clusterroles'], ['escalate']),
  rule('apps', ['controllerrevisions', 'replicasets'], ['create']),
  rule('batch', ['jobs'], ['create']),
  rule('storage.k8s.io', ['storageclasses'], ['create']),
  rule('certificates.k8s.io', ['signers'], ['approve', 'sign']),
  rule('discovery.k8s.io', ['endpointslices'], ['create']),
  // Aggregated ClusterRoles are filled with rules that this identity need not hold itself.
  rule(RBAC, ['clusterroles'], ['escalate']),
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
  pathRule(['*']),
];

const HEALTH = ['/healthz', '/livez', '/readyz', '/version', '/version/'];

export const bootstrapRoles: readonly V1ClusterRole[] = [
  role('cluster-admin', [rule('*', ['*'], ['*']), pathRule(['*'], ['*'])]),
  aggregated('admin', [...adminRules, ...editRules, ...viewRules], {
    'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
  }),
  aggregated(
    'edit',
    [...editRules, ...viewRules],
    { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' },
    'admin',
  ),
  aggregated('view', viewRules, { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }, 'edit'),
  role('system:aggregate-to-admin', adminRules, { [`${AGGREGATE_TO}admin`]: 'true' }),
  role('system:aggregate-to-edit', editRules, { [`${AGGREGATE_TO}edit`]: 'true' }),
  role('system:aggregate-to-view', viewRules, { [`${AGGREGATE_TO}view`]: 'true' }),
  role('system:aggregated-metrics-reader', [rule('metrics.k8s.io', ['nodes', 'pods'], READ)], {
    ...Object.fromEntries(['view', 'edit', 'admin'].map((name) => [`${AGGREGATE_TO}${name}`, 'true'])),
  }),
  role('system:basic-user', [
    rule('authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'], ['create']),
    rule('authentication.k8s.io', ['selfsubjectreviews'], ['create']),
  ]),
  role('system:discovery', [
    pathRule(['/api', '/api/*', '/apis', '/apis/*', ...HEALTH, '/openapi', '/openapi/*']),
  ]),
  role('system:public-info-viewer', [pathRule(HEALTH)]),
  role('system:monitoring', [
    pathRule([
      '/healthz',
      '/healthz/*',
      '/livez',
      '/livez/*',
      '/metrics',
      '/metrics/slis',
      '/readyz',
      '/readyz/*',
    ]),
  ]),
  role('system:service-account-issuer-discovery', [
    pathRule([
      '/.well-known/openid-configuration',
      '/.well-known/openid-configuration/',
      '/openid/v1/jwks',
      '/openid/v1/jwks/',
    ]),
  ]),
  // Unbound: the Node authorizer gives kubelets more precisely what they need.
  role('system:node', nodeRules),
  role('system:node-proxier', [
    rule('', ['services', 'endpoints', 'nodes'], ['get', 'list', 'watch']),
    rule('discovery.k8s.io', ['endpointslices'], ['get', 'list', 'watch']),
    rule('networking.k8s.io', ['networkpolicies', 'servicecidrs'], ['list', 'watch']),
    EVENTS,
  ]),
  role('system:kube-dns', [
    rule('', ['endpoints', 'services', 'namespaces', 'pods'], ['list', 'watch']),
    rule('discovery.k8s.io', ['endpointslices'], ['list', 'watch']),
  ]),
  role('system:node-bootstrapper', [
    rule('certificates.k8s.io', ['certificatesigningrequests'], ['create', 'get', 'list', 'watch']),
  ]),
  role('system:certificates.k8s.io:certificatesigningrequests:nodeclient', [
    rule('certificates.k8s.io', ['certificatesigningrequests/nodeclient'], ['create']),
  ]),
  role('system:certificates.k8s.io:certificatesigningrequests:selfnodeclient', [
    rule('certificates.k8s.io', ['certificatesigningrequests/selfnodeclient'], ['create']),
  ]),
  role('system:kubelet-api-admin', [
    rule('', ['nodes'], ['get', 'list', 'watch', 'proxy']),
    rule('', ['nodes/log', 'nodes/metrics', 'nodes/proxy', 'nodes/stats'], ['*']),
  ]),
  role('system:auth-delegator', [
    rule('authentication.k8s.io', ['tokenreviews'], ['create']),
    rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
  ]),
  role('system:kube-scheduler', schedulerRules),
  role('system:kube-controller-manager', controllerManagerRules),
];

function role(
  name: string,
  rules: readonly V1PolicyRule[],
  labels: Readonly<Record<string, string>> = {},
): V1ClusterRole {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name, labels: { ...BOOTSTRAP_LABELS, ...labels }, annotations: { [AUTO_UPDATE]: 'true' } },
    rules,
  };
}

/** A role that takes in the rules of those so labelled, and may itself be taken in by `into`. */
function aggregated(
  name: string,
  rules: readonly V1PolicyRule[],
  matchLabels: Readonly<Record<string, string>>,
  into?: string,
): V1ClusterRole {
  const labels = into === undefined ? {} : { [`${AGGREGATE_TO}${into}`]: 'true' };
  return { ...role(name, rules, labels), aggregationRule: { clusterRoleSelectors: [{ matchLabels }] } };
}
