// What every kubelet may do without regard to which node it is; NodeRestriction narrows the writes to its own. Pure.
import type { V1PolicyRule } from '../../api/gen/types.js';
import { rule } from './policyRule.js';

export const nodeRules: readonly V1PolicyRule[] = [
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('authorization.k8s.io', ['subjectaccessreviews', 'localsubjectaccessreviews'], ['create']),
  rule('', ['services'], ['get', 'list', 'watch']),
  rule('', ['nodes'], ['create', 'get', 'list', 'watch', 'update', 'patch']),
  rule('', ['nodes/status'], ['update', 'patch']),
  rule('', ['events'], ['create', 'update', 'patch']),
  rule('events.k8s.io', ['events'], ['create', 'update', 'patch']),
  rule('', ['pods'], ['get', 'list', 'watch', 'create', 'delete']),
  rule('', ['pods/status'], ['update', 'patch']),
  rule('', ['pods/eviction'], ['create']),
  rule('', ['persistentvolumes', 'endpoints'], ['get']),
  rule('certificates.k8s.io', ['certificatesigningrequests'], ['create', 'get', 'list', 'watch']),
  rule('node.k8s.io', ['runtimeclasses'], ['get', 'list', 'watch']),
  rule('storage.k8s.io', ['csidrivers'], ['get', 'list', 'watch']),
  rule('storage.k8s.io', ['csinodes'], ['create', 'get', 'update', 'patch', 'delete']),
];
