// The FlowSchemas and PriorityLevelConfigurations that every cluster of Kubernetes v1.36 has. Pure data.
// Guarantees: names, numbers and rules are those that clients of a stock server see.
import type {
  FlowcontrolV1Subject,
  V1FlowSchema,
  V1NonResourcePolicyRule,
  V1PolicyRulesWithSubjects,
  V1PriorityLevelConfiguration,
  V1PriorityLevelConfigurationSpec,
  V1ResourcePolicyRule,
} from '../../api/gen/types.js';

/** `true` on an object that follows these defaults, `false` on one that an administrator keeps as it is. */
export const AUTO_UPDATE = 'apf.kubernetes.io/autoupdate-spec';

const EVERY = ['*'];
const metadata = (name: string) => ({ name, annotations: { [AUTO_UPDATE]: 'true' } });

const level = (name: string, spec: V1PriorityLevelConfigurationSpec): V1PriorityLevelConfiguration => ({
  metadata: metadata(name),
  spec,
});

interface Queued {
  readonly shares: number;
  readonly lendable: number;
  readonly queues: number;
  readonly handSize: number;
}

const queued = (name: string, { shares, lendable, queues, handSize }: Queued): V1PriorityLevelConfiguration =>
  level(name, {
    type: 'Limited',
    limited: {
      nominalConcurrencyShares: shares,
      lendablePercent: lendable,
      limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit: 50 } },
    },
  });

/** What is as it is here, whatever an administrator writes. */
export const MANDATORY_LEVELS: readonly V1PriorityLevelConfiguration[] = [
  level('catch-all', {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
  }),
  level('exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }),
];

export const SUGGESTED_LEVELS: readonly V1PriorityLevelConfiguration[] = [
  queued('system', { shares: 30, lendable: 33, queues: 64, handSize: 6 }),
  queued('node-high', { shares: 40, lendable: 25, queues: 64, handSize: 6 }),
  queued('leader-election', { shares: 10, lendable: 0, queues: 16, handSize: 4 }),
  queued('workload-high', { shares: 40, lendable: 50, queues: 128, handSize: 6 }),
  queued('workload-low', { shares: 100, lendable: 90, queues: 128, handSize: 6 }),
  queued('global-default', { shares: 20, lendable: 50, queues: 128, handSize: 6 }),
];

const group = (name: string): FlowcontrolV1Subject => ({ kind: 'Group', group: { name } });
const user = (name: string): FlowcontrolV1Subject => ({ kind: 'User', user: { name } });
const SYSTEM_ACCOUNTS: FlowcontrolV1Subject = {
  kind: 'ServiceAccount',
  serviceAccount: { name: '*', namespace: 'kube-system' },
};
const NODES = group('system:nodes');
const EVERYBODY = [group('system:unauthenticated'), group('system:authenticated')];

const resources = (
  verbs: string[],
  apiGroup: string,
  names: string[],
  clusterScope: boolean,
): V1ResourcePolicyRule => ({
  verbs,
  apiGroups: [apiGroup],
  resources: names,
  // Written only where it is so, as Go's types do.
  ...(clusterScope ? { clusterScope } : {}),
  namespaces: EVERY,
});
const paths = (verbs: string[], nonResourceURLs: string[]): V1NonResourcePolicyRule => ({
  verbs,
  nonResourceURLs,
});
const everything = (...subjects: FlowcontrolV1Subject[]): V1PolicyRulesWithSubjects => ({
  subjects,
  resourceRules: [resources(EVERY, '*', EVERY, true)],
  nonResourceRules: [paths(EVERY, EVERY)],
});

interface Flow {
  readonly name: string;
  readonly level: string;
  readonly precedence: number;
  readonly by?: 'ByUser' | 'ByNamespace';
  readonly rules: V1PolicyRulesWithSubjects;
}

const schema = ({ name, level: priority, precedence, by, rules }: Flow): V1FlowSchema => ({
  metadata: metadata(name),
  spec: {
    priorityLevelConfiguration: { name: priority },
    matchingPrecedence: precedence,
    ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
    rules: [rules],
  },
});

export const MANDATORY_SCHEMAS: readonly V1FlowSchema[] = [
  { name: 'exempt', level: 'exempt', precedence: 1, rules: everything(group('system:masters')) },
  {
    name: 'catch-all',
    level: 'catch-all',
    precedence: 10_000,
    by: 'ByUser' as const,
    rules: everything(...EVERYBODY),
  },
].map(schema);

const leases = (verbs: string[]) => resources(verbs, 'coordination.k8s.io', ['leases'], false);

const SUGGESTED: readonly Flow[] = [
  { name: 'system-nodes', level: 'system', precedence: 500, by: 'ByUser', rules: everything(NODES) },
  {
    name: 'system-node-high',
    level: 'node-high',
    precedence: 400,
    by: 'ByUser',
    rules: {
      subjects: [NODES],
      resourceRules: [resources(EVERY, '', ['nodes', 'nodes/status'], true), leases(EVERY)],
    },
  },
  {
    name: 'probes',
    level: 'exempt',
    precedence: 2,
    rules: { subjects: EVERYBODY, nonResourceRules: [paths(['get'], ['/healthz', '/readyz', '/livez'])] },
  },
  {
    name: 'system-leader-election',
    level: 'leader-election',
    precedence: 100,
    by: 'ByUser',
    rules: {
      subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler'), SYSTEM_ACCOUNTS],
      resourceRules: [leases(['get', 'create', 'update'])],
    },
  },
  {
    name: 'kube-controller-manager',
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    rules: everything(user('system:kube-controller-manager')),
  },
  {
    name: 'kube-scheduler',
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    rules: everything(user('system:kube-scheduler')),
  },
  {
    name: 'kube-system-service-accounts',
    level: 'workload-high',
    precedence: 900,
    by: 'ByNamespace',
    rules: everything(SYSTEM_ACCOUNTS),
  },
  {
    name: 'service-accounts',
    level: 'workload-low',
    precedence: 9000,
    by: 'ByUser',
    rules: everything(group('system:serviceaccounts')),
  },
  {
    name: 'global-default',
    level: 'global-default',
    precedence: 9900,
    by: 'ByUser',
    rules: everything(...EVERYBODY),
  },
];

export const SUGGESTED_SCHEMAS: readonly V1FlowSchema[] = SUGGESTED.map(schema);
