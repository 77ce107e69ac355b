// Every kind that the apiserver serves. Pure.
// Guarantees: a kind is served because it is in this list, and for no other reason.
import type { KindDefinition } from '../kind.js';
import { configMapKind } from './configMap.js';
import { deploymentKind } from './deployment.js';
import { endpointSliceKind } from './endpointSlice.js';
import { endpointsKind } from './endpoints.js';
import { eventKind } from './event.js';
import { leaseKind } from './lease.js';
import { namespaceKind } from './namespace.js';
import { nodeKind } from './node.js';
import { podKind } from './pod.js';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './rbac.js';
import { replicaSetKind } from './replicaSet.js';
import { secretKind } from './secret.js';
import { serviceKind } from './service.js';
import { serviceAccountKind } from './serviceAccount.js';

/** In the order of discovery: by group, the core group first. */
export const KINDS: readonly KindDefinition[] = [
  configMapKind,
  endpointsKind,
  eventKind,
  namespaceKind,
  nodeKind,
  podKind,
  secretKind,
  serviceAccountKind,
  serviceKind,
  deploymentKind,
  replicaSetKind,
  leaseKind,
  endpointSliceKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
];
