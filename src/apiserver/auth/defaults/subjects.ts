// Short functions for the subjects of bindings. Pure.
import type { RbacV1Subject } from '../../../api/gen/types.js';

export const RBAC = 'rbac.authorization.k8s.io';

export const group = (name: string): RbacV1Subject => ({ kind: 'Group', apiGroup: RBAC, name });
export const user = (name: string): RbacV1Subject => ({ kind: 'User', apiGroup: RBAC, name });
/** A service account of kube-system. */
export const account = (name: string): RbacV1Subject => ({
  kind: 'ServiceAccount',
  name,
  namespace: 'kube-system',
});
