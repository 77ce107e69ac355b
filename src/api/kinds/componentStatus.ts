// ComponentStatus: whether a part of the control plane is well. Never stored: the apiserver looks when it is asked. Pure.
// Guarantees: prints as `kubectl get componentstatuses` has always shown it.
import { column, nameColumn } from '../columns.js';
import type { V1ComponentCondition, V1ComponentStatus } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { COMPONENT_STATUSES } from '../resources.js';

const healthOf = ({ conditions = [] }: V1ComponentStatus): Partial<V1ComponentCondition> =>
  conditions.find(({ type }) => type === 'Healthy') ?? {};

const WORDS: Readonly<Record<string, string>> = { True: 'Healthy', False: 'Unhealthy' };

export const componentStatusKind: KindDefinition<V1ComponentStatus> = {
  type: COMPONENT_STATUSES,
  singular: 'componentstatus',
  shortNames: ['cs'],
  categories: [],
  model: 'V1ComponentStatus',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  deprecation: 'v1 ComponentStatus is deprecated in v1.19+',
  columns: [
    nameColumn,
    column('Status', (object) => WORDS[healthOf(object).status ?? ''] ?? 'Unknown', {
      description: 'Whether it is well.',
    }),
    column('Message', (object) => healthOf(object).message ?? '', { description: 'What it says.' }),
    column('Error', (object) => healthOf(object).error ?? '', { description: 'What went wrong.' }),
  ],
};
