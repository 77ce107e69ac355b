// Namespace: a phase, a finalizer that lets its contents go first, and a label that selectors can find it by. Pure.
// Guarantees: a new namespace is Active; it can end only after the namespace controller has emptied it.
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1Namespace } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { NAMESPACES } from '../resources.js';

export const namespaceKind: KindDefinition<V1Namespace> = {
  type: NAMESPACES,
  deletedOneByOne: true,
  singular: 'namespace',
  shortNames: ['ns'],
  categories: [],
  model: 'V1Namespace',
  hasStatus: true,
  hasGeneration: false,
  nameRule: 'dnsLabel',
  defaults(draft) {
    const name = draft.metadata?.name;
    if (draft.metadata !== undefined && name)
      draft.metadata.labels = { ...draft.metadata.labels, 'kubernetes.io/metadata.name': name };
  },
  prepareForCreate(draft) {
    draft.status = { phase: 'Active' };
    const finalizers = new Set([...(draft.spec?.finalizers ?? []), 'kubernetes']);
    draft.spec = { finalizers: [...finalizers] };
  },
  // Only the finalize subresource, whose own code skips this, may let finalizers go.
  prepareForUpdate(draft, old) {
    draft.spec = { finalizers: [...(old.spec?.finalizers ?? [])] };
  },
  columns: [
    nameColumn,
    column('Status', ({ status }) => status?.phase ?? '', {
      description: 'Active, or Terminating while it empties.',
    }),
    ageColumn,
  ],
  fields: ({ status }) => ({ 'status.phase': status?.phase ?? '' }),
};
