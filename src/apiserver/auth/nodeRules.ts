// What every kubelet may do without regard to which node it is: the role system:node. The Node authorizer narrows what is
// named there to the node's own, and NodeRestriction the writes. Pure.
import type { V1PolicyRule } from '../../api/gen/types.js';
import { READ, rule } from './policyRule.js';

export const nodeRules: readonly V1PolicyRule[] = [
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('authorization.k8s.io', ['subjectaccessreviews', 'localsubjectaccessreviews'], ['create']),
  rule('', ['services'], READ),
  rule('', ['nodes'], ['create', ...READ]),
  rule('', ['nodes/status'], ['update', 'patch']),
  rule('', ['nodes'], ['update', 'patch']),
  rule(',events.k8s.io', ['events'], ['create', 'update', 'patch']),
  rule('', ['pods'], READ),
  rule('', ['pods'], ['create', 'delete']),
  rule('', ['pods/status'], ['update', 'patch']),
  rule('', ['pods/eviction'], ['create']),
  rule('', ['secrets', 'configmaps'], READ),
  rule('', ['persistentvolumeclaims', 'persistentvolumes'], ['get']),
  rule('', ['endpoints'], ['get']),
  rule('certificates.k8s.io', ['certificatesigningrequests'], ['create', ...READ]),
  rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update', 'patch', 'delete']),
  rule('storage.k8s.io', ['volumeattachments'], ['get']),
  rule('', ['serviceaccounts/token'], ['create']),
  rule('', ['persistentvolumeclaims/status'], ['get', 'update', 'patch']),
  rule('storage.k8s.io', ['csidrivers'], READ),
  rule('storage.k8s.io', ['csinodes'], ['get', 'create', 'update', 'patch', 'delete']),
  rule('node.k8s.io', ['runtimeclasses'], READ),
  rule('resource.k8s.io', ['resourceclaims'], ['get']),
  rule('resource.k8s.io', ['resourceslices'], ['deletecollection']),
  rule('', ['serviceaccounts'], ['get']),
];
