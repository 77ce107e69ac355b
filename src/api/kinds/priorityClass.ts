// PriorityClass: a name for how much a pod matters. Pure.
// Guarantees: users' priorities stay below the system's; the number behind a name never changes.
import { type Cause, checkOneOf, forbiddenField } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type { V1PriorityClass } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { PRIORITY_CLASSES } from '../resources.js';

const HIGHEST_USER_PRIORITY = 1_000_000_000;
const SYSTEM_PREFIX = 'system-';
const DEFAULT_POLICY = 'PreemptLowerPriority';

/** The two that every cluster has. */
export const SYSTEM_PRIORITY_CLASSES: readonly V1PriorityClass[] = [
  {
    metadata: { name: 'system-node-critical' },
    value: 2 * HIGHEST_USER_PRIORITY + 1000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
  {
    metadata: { name: 'system-cluster-critical' },
    value: 2 * HIGHEST_USER_PRIORITY,
    description:
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
];

export const priorityClassKind: KindDefinition<V1PriorityClass> = {
  type: PRIORITY_CLASSES,
  singular: 'priorityclass',
  shortNames: ['pc'],
  categories: [],
  model: 'V1PriorityClass',
  hasStatus: false,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.value ??= 0;
    draft.preemptionPolicy ??= DEFAULT_POLICY;
  },
  validate: (object, old) => [
    ...validateName(object),
    ...checkOneOf('preemptionPolicy', object.preemptionPolicy, ['Never', DEFAULT_POLICY]),
    ...(old === undefined
      ? []
      : (['value', 'preemptionPolicy'] as const)
          .filter((field) => object[field] !== old[field])
          .map((field) => forbiddenField(field, 'may not be changed in an update.'))),
  ],
  columns: [
    nameColumn,
    column('Value', ({ value }) => value ?? 0, { type: 'integer', description: 'The priority of its pods.' }),
    column('Global-Default', ({ globalDefault }) => String(globalDefault ?? false), {
      description: 'Whether pods that name none get it.',
    }),
    ageColumn,
    column('PreemptionPolicy', ({ preemptionPolicy }) => preemptionPolicy ?? '', {
      description: 'Whether its pods may push others out.',
    }),
  ],
};

function validateName({ metadata, value = 0, globalDefault = false }: V1PriorityClass): Cause[] {
  const { name = '' } = metadata ?? {};
  if (!name.startsWith(SYSTEM_PREFIX))
    return value > HIGHEST_USER_PRIORITY
      ? [
          forbiddenField(
            'value',
            `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`,
          ),
        ]
      : [];
  const known = SYSTEM_PRIORITY_CLASSES.find((some) => some.metadata?.name === name);
  const fault =
    known === undefined
      ? `${name} is not a known system priority class`
      : known.value !== value
        ? `value of ${name} PriorityClass must be ${known.value}`
        : globalDefault
          ? `globalDefault of ${name} PriorityClass must be false`
          : undefined;
  return fault === undefined
    ? []
    : [
        forbiddenField(
          'metadata.name',
          `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${fault}`,
        ),
      ];
}
