// ServiceAccount: an identity for what runs in pods. Pure.
// Guarantees: holds nothing secret itself; tokens are asked for, not kept here.
import { ageColumn, nameColumn } from '../columns.js';
import type { V1ServiceAccount } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { SERVICE_ACCOUNTS } from '../resources.js';

export const serviceAccountKind: KindDefinition<V1ServiceAccount> = {
  type: SERVICE_ACCOUNTS,
  singular: 'serviceaccount',
  shortNames: ['sa'],
  categories: [],
  model: 'V1ServiceAccount',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  columns: [nameColumn, ageColumn],
};
