// Lease: who holds something, until when. Heartbeats of nodes and the election of leaders. Pure.
// Guarantees: a duration is positive and transitions never negative; who may take a lease is for its users to agree.
import { type Cause, invalidValue } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1Lease } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { LEASES } from '../resources.js';

export const leaseKind: KindDefinition<V1Lease> = {
  type: LEASES,
  needsResourceVersion: true,
  createdByUpdate: true,
  singular: 'lease',
  shortNames: [],
  categories: [],
  model: 'V1Lease',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  validate({ spec }) {
    const causes: Cause[] = [];
    const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec ?? {};
    if (seconds !== undefined && seconds <= 0)
      causes.push(invalidValue('spec.leaseDurationSeconds', seconds, 'must be greater than 0'));
    if (transitions !== undefined && transitions < 0)
      causes.push(invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
    return causes;
  },
  columns: [
    nameColumn,
    column('Holder', ({ spec }) => spec?.holderIdentity ?? '', { description: 'Who holds the lease.' }),
    ageColumn,
  ],
};
