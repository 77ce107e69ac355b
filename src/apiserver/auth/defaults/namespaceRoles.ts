// The Roles of kube-system and kube-public, and who has them. Pure.
// Guarantees: rule by rule those of Kubernetes v1.36; what a component needs in one namespace it has in that one only.
import type { RbacV1Subject, V1PolicyRule } from '../../../api/gen/types.js';
import { EVENTS, READ, rule } from '../policyRule.js';
import { account, user } from './subjects.js';

interface NamespaceRole {
  readonly namespace: 'kube-system' | 'kube-public';
  readonly name: string;
  readonly rules: readonly V1PolicyRule[];
  readonly subjects: readonly RbacV1Subject[];
  /** The binding's name where it is not the role's. */
  readonly binding?: string;
}

const CONTROLLER_MANAGER = user('system:kube-controller-manager');
const SCHEDULER = user('system:kube-scheduler');
const LOCKING = [
  rule('coordination.k8s.io', 'leases', 'create get list update watch'),
  rule('coordination.k8s.io', 'leasecandidates', 'create get list update watch'),
];

export const namespaceRoles: readonly NamespaceRole[] = [
  {
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication-reader',
    binding: 'system::extension-apiserver-authentication-reader',
    rules: [rule('', 'configmaps', READ, 'extension-apiserver-authentication')],
    subjects: [CONTROLLER_MANAGER, SCHEDULER],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-controller-manager',
    rules: LOCKING,
    subjects: [CONTROLLER_MANAGER, account('kube-controller-manager'), account('leader-election-controller')],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-scheduler',
    rules: LOCKING,
    subjects: [SCHEDULER, account('kube-scheduler')],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:bootstrap-signer',
    rules: [rule('', 'secrets', READ)],
    subjects: [account('bootstrap-signer')],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:cloud-provider',
    rules: [rule('', 'configmaps', 'create get list watch')],
    subjects: [account('cloud-provider')],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:token-cleaner',
    rules: [rule('', 'secrets', 'delete get list watch'), EVENTS],
    subjects: [account('token-cleaner')],
  },
  {
    namespace: 'kube-public',
    name: 'system:controller:bootstrap-signer',
    rules: [rule('', 'configmaps', READ), rule('', 'configmaps', 'update', 'cluster-info'), EVENTS],
    subjects: [account('bootstrap-signer')],
  },
];
