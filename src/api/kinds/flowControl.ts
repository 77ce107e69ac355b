// FlowSchema and PriorityLevelConfiguration: how requests to the server are told apart and limited. Pure.
// Guarantees: they are kept and checked as Kubernetes does; this server limits requests by its flags alone.
import {
  type Cause,
  checkNotNegative,
  checkOneOf,
  forbiddenField,
  invalidValue,
  required,
} from '../causes.js';
import { ageColumn, column, nameColumn, orNone } from '../columns.js';
import type {
  FlowcontrolV1Subject,
  V1FlowSchema,
  V1LimitedPriorityLevelConfiguration,
  V1PolicyRulesWithSubjects,
  V1PriorityLevelConfiguration,
} from '../gen/types.js';
import { type KindDefinition, STATUS_METADATA } from '../kind.js';
import { FLOW_SCHEMAS, PRIORITY_LEVEL_CONFIGURATIONS } from '../resources.js';

const DEFAULT_PRECEDENCE = 1000;
const MAX_PRECEDENCE = 10_000;
const EXEMPT = 'exempt';

const missingLevel = ({ status }: V1FlowSchema) =>
  status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?';

export const flowSchemaKind: KindDefinition<V1FlowSchema> = {
  type: FLOW_SCHEMAS,
  singular: 'flowschema',
  shortNames: [],
  categories: [],
  model: 'V1FlowSchema',
  hasStatus: true,
  statusKeeps: STATUS_METADATA,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults({ spec }) {
    if (spec !== undefined) spec.matchingPrecedence ||= DEFAULT_PRECEDENCE;
  },
  prepareForCreate(draft) {
    draft.status = {};
  },
  validate: ({ metadata, spec }) => [
    ...validatePrecedence(spec?.matchingPrecedence ?? DEFAULT_PRECEDENCE, metadata?.name),
    ...(spec?.priorityLevelConfiguration?.name ? [] : [required('spec.priorityLevelConfiguration.name')]),
    ...checkOneOf('spec.distinguisherMethod.type', spec?.distinguisherMethod?.type, [
      'ByNamespace',
      'ByUser',
    ]),
    ...(spec?.rules ?? []).flatMap((rule, index) => validateRule(rule, `spec.rules[${index}]`)),
  ],
  columns: [
    nameColumn,
    column('PriorityLevel', ({ spec }) => orNone(spec?.priorityLevelConfiguration?.name), {
      description: 'The level of the requests that it matches.',
    }),
    column('MatchingPrecedence', ({ spec }) => spec?.matchingPrecedence ?? 0, {
      type: 'integer',
      description: 'The lowest of those that match a request counts.',
    }),
    column('DistinguisherMethod', ({ spec }) => orNone(spec?.distinguisherMethod?.type), {
      description: 'What makes flows of its requests.',
    }),
    ageColumn,
    column('MissingPL', missingLevel, { description: 'Whether its level is missing, where that is known.' }),
  ],
};

function validatePrecedence(precedence: number, name: string | undefined): Cause[] {
  const at = 'spec.matchingPrecedence';
  if (precedence < 1 || precedence > MAX_PRECEDENCE)
    return [invalidValue(at, precedence, `must be a value between 1 and ${MAX_PRECEDENCE}`)];
  if (precedence === 1 && name !== EXEMPT)
    return [invalidValue(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")];
  return [];
}

function validateRule(rule: V1PolicyRulesWithSubjects, at: string): Cause[] {
  const { subjects = [], resourceRules = [], nonResourceRules = [] } = rule;
  return [
    ...(subjects.length > 0 ? [] : [required(`${at}.subjects`, 'subjects must contain at least one value')]),
    ...subjects.flatMap((subject, index) => validateSubject(subject, `${at}.subjects[${index}]`)),
    ...(resourceRules.length + nonResourceRules.length > 0
      ? []
      : [required(at, 'at least one of resourceRules and nonResourceRules has to be non-empty')]),
    ...resourceRules.flatMap(({ verbs, apiGroups, resources, clusterScope, namespaces }, index) => [
      ...needed({ verbs, apiGroups, resources }, `${at}.resourceRules[${index}]`),
      ...(clusterScope === true || (namespaces ?? []).length > 0
        ? []
        : [
            required(
              `${at}.resourceRules[${index}].namespaces`,
              'resource rules that are not cluster scoped must supply at least one namespace',
            ),
          ]),
    ]),
    ...nonResourceRules.flatMap(({ verbs, nonResourceURLs }, index) =>
      needed({ verbs, nonResourceURLs }, `${at}.nonResourceRules[${index}]`),
    ),
  ];
}

function needed(lists: Readonly<Record<string, readonly string[] | undefined>>, at: string): Cause[] {
  return Object.entries(lists)
    .filter(([, list]) => (list ?? []).length === 0)
    .map(([name]) => required(`${at}.${name}`));
}

const SUBJECTS = { User: 'user', Group: 'group', ServiceAccount: 'serviceAccount' } as const;

/** Of the three forms exactly the one that the kind names. */
function validateSubject(subject: FlowcontrolV1Subject, at: string): Cause[] {
  const { kind } = subject;
  if (!(kind in SUBJECTS)) return checkOneOf(`${at}.kind`, kind, Object.keys(SUBJECTS));
  return Object.entries(SUBJECTS).flatMap(([named, field]) => {
    if (named !== kind)
      return subject[field] === undefined
        ? []
        : [forbiddenField(`${at}.${field}`, `${field} is forbidden when subject kind is not '${named}'`)];
    return subject[field]?.name
      ? []
      : [required(`${at}.${field}`, `${field} is required when subject kind is '${named}'`)];
  });
}

const DEFAULT_SHARES = 30;
const DEFAULT_QUEUING = { queues: 64, handSize: 8, queueLengthLimit: 50 };

export const priorityLevelConfigurationKind: KindDefinition<V1PriorityLevelConfiguration> = {
  type: PRIORITY_LEVEL_CONFIGURATIONS,
  singular: 'prioritylevelconfiguration',
  shortNames: [],
  categories: [],
  model: 'V1PriorityLevelConfiguration',
  hasStatus: true,
  statusKeeps: STATUS_METADATA,
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults({ spec }) {
    const limited = spec?.limited;
    if (limited !== undefined) {
      limited.nominalConcurrencyShares ??= DEFAULT_SHARES;
      limited.lendablePercent ??= 0;
      const queuing = limited.limitResponse?.queuing;
      if (queuing !== undefined)
        for (const field of ['queues', 'handSize', 'queueLengthLimit'] as const)
          queuing[field] ||= DEFAULT_QUEUING[field];
    }
    if (spec?.exempt !== undefined) {
      spec.exempt.nominalConcurrencyShares ??= 0;
      spec.exempt.lendablePercent ??= 0;
    }
  },
  prepareForCreate(draft) {
    draft.status = {};
  },
  validate: ({ metadata, spec }) => [
    ...checkOneOf('spec.type', spec?.type ?? '', ['Exempt', 'Limited']),
    ...(spec?.type === 'Exempt' && metadata?.name !== EXEMPT
      ? [invalidValue('spec.type', 'Exempt', "must be 'Limited' except for the one named 'exempt'")]
      : []),
    ...(spec?.type === 'Exempt' && spec.limited !== undefined
      ? [forbiddenField('spec.limited', 'must be nil if the type is not Limited')]
      : []),
    ...(spec?.type === 'Limited' && spec.exempt !== undefined
      ? [forbiddenField('spec.exempt', 'must be nil if the type is Limited')]
      : []),
    ...(spec?.type === 'Limited' ? validateLimited(spec.limited, 'spec.limited') : []),
  ],
  columns: [
    nameColumn,
    column('Type', ({ spec }) => spec?.type ?? '', { description: 'Whether its requests are limited.' }),
    column('NominalConcurrencyShares', ({ spec }) => orNoNumber(spec?.limited?.nominalConcurrencyShares), {
      description: 'Its share of the requests at once.',
    }),
    column('Queues', ({ spec }) => orNoNumber(spec?.limited?.limitResponse?.queuing?.queues), {
      description: 'How many queues it has.',
    }),
    column('HandSize', ({ spec }) => orNoNumber(spec?.limited?.limitResponse?.queuing?.handSize), {
      description: 'How many queues a flow may choose from.',
    }),
    column(
      'QueueLengthLimit',
      ({ spec }) => orNoNumber(spec?.limited?.limitResponse?.queuing?.queueLengthLimit),
      {
        description: 'How many requests may wait in a queue.',
      },
    ),
    ageColumn,
  ],
};

const orNoNumber = (value: number | undefined) => value ?? '<none>';

function validateLimited(limited: V1LimitedPriorityLevelConfiguration | undefined, at: string): Cause[] {
  if (limited === undefined) return [required(at, 'must not be empty when type is Limited')];
  const { nominalConcurrencyShares, lendablePercent = 0, borrowingLimitPercent, limitResponse } = limited;
  return [
    ...checkNotNegative(`${at}.nominalConcurrencyShares`, nominalConcurrencyShares),
    ...(lendablePercent < 0 || lendablePercent > 100
      ? [invalidValue(`${at}.lendablePercent`, lendablePercent, 'must be between 0 and 100, inclusive')]
      : []),
    ...checkNotNegative(`${at}.borrowingLimitPercent`, borrowingLimitPercent),
    ...checkOneOf(`${at}.limitResponse.type`, limitResponse?.type ?? '', ['Queue', 'Reject']),
    ...validateQueuing(limitResponse, `${at}.limitResponse.queuing`),
  ];
}

function validateQueuing(
  response: V1LimitedPriorityLevelConfiguration['limitResponse'],
  at: string,
): Cause[] {
  const queuing = response?.queuing;
  if (response?.type === 'Reject')
    return queuing === undefined
      ? []
      : [forbiddenField(at, 'must be nil if limited.limitResponse.type is not Limited')];
  if (response?.type !== 'Queue') return [];
  if (queuing === undefined)
    return [required(at, 'must not be empty if limited.limitResponse.type is Limited')];
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing;
  return [
    ...Object.entries({ queueLengthLimit, queues, handSize })
      .filter(([, value]) => value <= 0)
      .map(([name, value]) => invalidValue(`${at}.${name}`, value, 'must be positive')),
    ...(handSize > queues
      ? [invalidValue(`${at}.handSize`, handSize, `should not be greater than queues (${queues})`)]
      : []),
  ];
}
