// What a cluster tells those who join it, and what it lets them do: by kubeadm's names where kubeadm has one.
// Guarantees: may run at every start; anonymous callers read `cluster-info` alone, bootstrap tokens may ask for a node's
// certificate and read the shared settings, nodes get no right beyond a kubelet's but to ask for the token by which their
// proxy, overlay and name server read the API.
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
import { NODE_NETWORK } from '../../apiserver/auth/defaults/ownRules.js';
import type { Client } from '../../client/client.js';
import { type Settings, SHARED_SETTINGS } from '../settings.js';
import { JOIN_GROUP } from './token.js';

export const CLUSTER_INFO = { namespace: 'kube-public', name: 'cluster-info' };
export const SHARED_CONFIG = { namespace: 'kube-system', name: 'trellis-config' };
/** The key of each ConfigMap under which its text is. */
export const INFO_KEY = 'kubeconfig';
export const CONFIG_KEY = 'settings';

export interface JoinObjectsOptions {
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
const NETWORK: RbacV1Subject = { kind: 'ServiceAccount', ...NODE_NETWORK };
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
    apply(CLUSTER_ROLES, {
      metadata: { name: 'trellis:name-server' },
      rules: [may(['list', 'watch'], 'namespaces')],
    }),
    apply(SERVICE_ACCOUNTS, { metadata: NODE_NETWORK, automountServiceAccountToken: false }),
    apply(ROLES, {
      metadata: { name: 'trellis:node-network-token', namespace: NODE_NETWORK.namespace },
      rules: [{ ...may(['create'], 'serviceaccounts/token'), resourceNames: [NODE_NETWORK.name] }],
    }),
    apply(CLUSTER_ROLES, {
      metadata: { name: 'trellis:network-policy' },
      rules: [
        may(['list', 'watch'], 'namespaces', 'pods'),
        { ...may(['list', 'watch'], 'networkpolicies'), apiGroups: ['networking.k8s.io'] },
      ],
    }),
    ...roleBindings.map((binding) => apply(ROLE_BINDINGS, binding)),
    ...clusterRoleBindings.map((binding) => apply(CLUSTER_ROLE_BINDINGS, binding)),
  ]);
}

const BY_US = { fieldManager: 'trellis-server', force: true };

const roleBindings = [
  binding('kubeadm:bootstrap-signer-clusterinfo', {
    ...{ namespace: CLUSTER_INFO.namespace, kind: 'Role', subjects: [subject('User', 'system:anonymous')] },
  }),
  binding('trellis:node-config', {
    ...{ namespace: SHARED_CONFIG.namespace, kind: 'Role', subjects: [JOINING, NODES_GROUP] },
  }),
  binding('trellis:node-network-token', {
    ...{ namespace: NODE_NETWORK.namespace, kind: 'Role', subjects: [NODES_GROUP] },
  }),
];

const clusterRoleBindings = [
  binding('kubeadm:kubelet-bootstrap', { role: 'system:node-bootstrapper', subjects: [JOINING] }),
  binding('kubeadm:get-nodes', { subjects: [JOINING] }),
  binding('kubeadm:node-autoapprove-bootstrap', { role: `${CSR}:nodeclient`, subjects: [JOINING] }),
  binding('kubeadm:node-autoapprove-certificate-rotation', {
    ...{ role: `${CSR}:selfnodeclient`, subjects: [NODES_GROUP] },
  }),
  binding('trellis:node-proxier', { role: 'system:node-proxier', subjects: [NETWORK] }),
  binding('trellis:name-server', { subjects: [NETWORK] }),
  binding('trellis:network-policy', { subjects: [NETWORK] }),
];

/** As kubeadm writes it: the way to the server and its authority, and nobody's identity. */
function clusterInfo({ server, ca }: JoinObjectsOptions) {
  const cluster = { 'certificate-authority-data': Buffer.from(ca).toString('base64'), server };
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': '', preferences: {} },
    ...{ clusters: [{ name: '', cluster }], contexts: [], users: [] },
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

const may = (verbs: readonly string[], ...resources: readonly string[]): V1PolicyRule => ({
  apiGroups: [''],
  resources,
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
