// Default rules of earlier versions that no longer exist: they are removed from clusters that have them. Pure.
// Guarantees: only a rule that is exactly as it was given goes; what an administrator wrote stays.
import type { V1PolicyRule } from '../../../api/gen/types.js';
import { pathRule, READ, READ_WRITE, rule } from '../policyRule.js';

/** By the name of the ClusterRole. */
export const retiredRules: Readonly<Record<string, readonly V1PolicyRule[]>> = {
  // One identity ran all controllers.
  'system:kube-controller-manager': [
    rule('coordination.k8s.io', 'leases', READ_WRITE),
    rule('*', '*', READ),
    rule('*', '*', 'delete deletecollection patch update'),
    rule(
      '',
      'configmaps endpoints namespaces persistentvolumeclaims persistentvolumes pods secrets serviceaccounts services',
      'create',
    ),
    rule('', 'serviceaccounts/token pods/eviction pods/binding', 'create'),
    rule('rbac.authorization.k8s.io', 'clusterroles', 'escalate'),
    rule('apps', 'controllerrevisions replicasets', 'create'),
    rule('batch', 'jobs', 'create'),
    rule('storage.k8s.io', 'storageclasses', 'create'),
    rule('certificates.k8s.io', 'signers', 'approve sign'),
    rule('discovery.k8s.io', 'endpointslices', 'create'),
    pathRule('*'),
  ],
};
