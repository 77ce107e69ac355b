// Roles and bindings of components that Kubernetes does not have, in roles of their own, which leaves the stock roles unchanged. Pure.
// Guarantees: each gives what one controller or certificate needs and no more.
import type { RbacV1Subject, V1PolicyRule } from '../../../api/gen/types.js';
import { EVENTS, READ, rule } from '../policyRule.js';
import { account, group } from './subjects.js';

/** The group of the certificate by which the apiserver speaks to kubelets. */
export const KUBELET_CLIENTS = 'trellis:kubelet-clients';

interface OwnRole {
  readonly name: string;
  readonly rules: readonly V1PolicyRule[];
  readonly subjects: readonly RbacV1Subject[];
}

export const trellisRoles: readonly OwnRole[] = [
  {
    name: 'trellis:controller:dns-endpoints-controller',
    rules: [
      rule('', 'nodes', READ),
      rule('discovery.k8s.io', 'endpointslices', 'create delete get list update watch'),
      EVENTS,
    ],
    subjects: [account('dns-endpoints-controller')],
  },
  {
    name: 'trellis:controller:kubelet-serving-approver',
    rules: [
      rule('', 'nodes', READ),
      rule('certificates.k8s.io', 'certificatesigningrequests', READ),
      rule('certificates.k8s.io', 'certificatesigningrequests/approval', 'update'),
      rule('certificates.k8s.io', 'signers', 'approve', 'kubernetes.io/kubelet-serving'),
      EVENTS,
    ],
    subjects: [account('kubelet-serving-approver')],
  },
  {
    // The binder provisions local volumes, too, and brings the StorageClass for them.
    name: 'trellis:controller:local-path-provisioner',
    rules: [rule('storage.k8s.io', 'storageclasses', 'create')],
    subjects: [account('persistent-volume-binder')],
  },
];

/** Bindings to a role of Kubernetes. */
export const trellisBindings: readonly { name: string; role: string; subjects: readonly RbacV1Subject[] }[] =
  [
    {
      name: 'trellis:kubelet-clients',
      role: 'system:kubelet-api-admin',
      subjects: [group(KUBELET_CLIENTS)],
    },
  ];
