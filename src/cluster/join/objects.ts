// What a cluster tells those who join it, and what it lets them do: by kubeadm's names where kubeadm has one.
// Guarantees: may run at every start; anonymous callers read `cluster-info` alone, bootstrap tokens may ask for a node's
// certificate and read the shared settings, nodes get no right beyond a kubelet's but to read these, too, and to ask for the
// tokens by which their other parts read the API.
import type { RbacV1Subject, V1PolicyRule } from '../../api/gen/types.js';
import type { KubeObject } from '../../api/object.js';
import {
  apiVersionOf,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CONFIG_MAPS,
  type ResourceType,
  ROLE_BINDINGS,
  ROLES,
  SERVICE_ACCOUNTS,
} from '../../api/resources.js';
import {
  NODE_PART_ACCOUNTS,
  NODE_PARTS,
  NODE_PARTS_NAMESPACE,
} from '../../apiserver/auth/defaults/nodeParts.js';
import type { Client } from '../../client/client.js';
import { type Settings, SHARED_SETTINGS } from '../settings.js';
import { JOIN_GROUP } from './token.js';

export const CLUSTER_INFO = { namespace: 'kube-public', name: 'cluster-info' };
export const SHARED_CONFIG = { namespace: 'kube-system', name: 'trellis-config' };
/** The key of each ConfigMap under which its text is. */
export const INFO_KEY = 'kubeconfig';
export const CONFIG_KEY = 'settings';

interface JoinObjectsOptions {
  readonly settings: Settings;
  /** Where nodes reach the apiserver. */
  readonly server: string;
  /** PEM. */
  readonly ca: string;
}

const RBAC = 'rbac.authorization.k8s.io';
const subject = (kind: 'Group' | 'User', name: string): RbacV1Subject => ({ kind, apiGroup: RBAC, name });
const JOINING = subject('Group', JOIN_GROUP);
const NODES_GROUP = subject('Group', 'system:nodes');
const NODE_TOKENS = 'trellis:node-network-token';
const CSR = 'system:certificates.k8s.io:certificatesigningrequests';

/** Taken back to what they are at each start; an administrator's own roles stand beside them. */
export async function ensureJoinObjects(client: Client, options: JoinObjectsOptions): Promise<void> {
  const apply = async <T extends KubeObject>(type: ResourceType<T>, object: T) => {
    const { name = '', namespace } = object.metadata ?? {};
    const at = namespace === undefined ? { name } : { name, namespace };
    const whole = { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
    await client.of(type).patch(at, 'apply', whole, BY_US);
  };
  await Promise.all([
    apply(CONFIG_MAPS, clusterInfo(options)),
    apply(CONFIG_MAPS, sharedConfig(options)),
    apply(ROLES, reader('kubeadm:bootstrap-signer-clusterinfo', CLUSTER_INFO)),
    apply(ROLES, reader('trellis:node-config', SHARED_CONFIG)),
    apply(CLUSTER_ROLES, { metadata: { name: 'kubeadm:get-nodes' }, rules: [may(['get'], 'nodes')] }),
    apply(ROLES, {
      metadata: { name: NODE_TOKENS, namespace: NODE_PARTS_NAMESPACE },
      rules: [{ ...may(['create'], 'serviceaccounts/token'), resourceNames: NODE_PART_ACCOUNTS }],
    }),
    ...Object.values(NODE_PARTS).flatMap(({ account, role, rules }) => [
      apply(SERVICE_ACCOUNTS, {
        metadata: { namespace: NODE_PARTS_NAMESPACE, name: account },
        automountServiceAccountToken: false,
      }),
      ...(rules === undefined ? [] : [apply(CLUSTER_ROLES, { metadata: { name: role }, rules })]),
    ]),
    ...roleBindings.map((binding) => apply(ROLE_BINDINGS, binding)),
    ...clusterRoleBindings.map((binding) => apply(CLUSTER_ROLE_BINDINGS, binding)),
  ]);
}

const BY_US = { fieldManager: 'trellis-server', force: true };

const roleBindings = [
  binding('kubeadm:bootstrap-signer-clusterinfo', {
    namespace: CLUSTER_INFO.namespace,
    kind: 'Role',
    subjects: [subject('User', 'system:anonymous')],
  }),
  binding('trellis:node-config', {
    namespace: SHARED_CONFIG.namespace,
    kind: 'Role',
    subjects: [JOINING, NODES_GROUP],
  }),
  binding(NODE_TOKENS, {
    namespace: NODE_PARTS_NAMESPACE,
    kind: 'Role',
    subjects: [NODES_GROUP],
  }),
];

const clusterRoleBindings = [
  binding('kubeadm:kubelet-bootstrap', { role: 'system:node-bootstrapper', subjects: [JOINING] }),
  binding('kubeadm:get-nodes', { subjects: [JOINING] }),
  binding('kubeadm:node-autoapprove-bootstrap', { role: `${CSR}:nodeclient`, subjects: [JOINING] }),
  binding('kubeadm:node-autoapprove-certificate-rotation', {
    role: `${CSR}:selfnodeclient`,
    subjects: [NODES_GROUP],
  }),
  ...Object.values(NODE_PARTS).map(({ account, binding: name, role }) =>
    binding(name, {
      role,
      subjects: [{ kind: 'ServiceAccount', namespace: NODE_PARTS_NAMESPACE, name: account }],
    }),
  ),
];

/** As kubeadm writes it: the way to the server and its authority, and nobody's identity. */
function clusterInfo({ server, ca }: JoinObjectsOptions) {
  const cluster = { 'certificate-authority-data': Buffer.from(ca).toString('base64'), server };
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': '',
    preferences: {},
    clusters: [{ name: '', cluster }],
    contexts: [],
    users: [],
  };
  return { metadata: CLUSTER_INFO, data: { [INFO_KEY]: `${JSON.stringify(kubeconfig, null, 2)}\n` } };
}

function sharedConfig({ settings }: JoinObjectsOptions) {
  const shared = Object.fromEntries(SHARED_SETTINGS.map((key) => [key, settings[key]]));
  return { metadata: SHARED_CONFIG, data: { [CONFIG_KEY]: `${JSON.stringify(shared, null, 2)}\n` } };
}

function reader(name: string, of: { readonly namespace: string; readonly name: string }) {
  const rules = [{ ...may(['get'], 'configmaps'), resourceNames: [of.name] }];
  return { metadata: { name, namespace: of.namespace }, rules };
}

const may = (verbs: readonly string[], resource: string): V1PolicyRule => ({
  apiGroups: [''],
  resources: [resource],
  verbs,
});

function binding(
  name: string,
  options: {
    readonly subjects: readonly RbacV1Subject[];
    readonly namespace?: string;
    readonly kind?: string;
    /** The binding's own name unless given. */
    readonly role?: string;
  },
) {
  const { subjects, namespace, kind = 'ClusterRole', role = name } = options;
  return {
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    roleRef: { apiGroup: RBAC, kind, name: role },
    subjects,
  };
}
