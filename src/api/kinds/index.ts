// Every kind that the apiserver serves. Pure.
// Guarantees: a kind is served because it is in this list, and for no other reason.
import type { KindDefinition } from '../kind.js';
import { configMapKind } from './configMap.js';
import { leaseKind } from './lease.js';
import { namespaceKind } from './namespace.js';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './rbac.js';
import { secretKind } from './secret.js';
import { serviceAccountKind } from './serviceAccount.js';

export const KINDS: readonly KindDefinition[] = [
  configMapKind,
  namespaceKind,
  secretKind,
  serviceAccountKind,
  leaseKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
];
