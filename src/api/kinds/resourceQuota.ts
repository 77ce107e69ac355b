// ResourceQuota: how much the objects of a namespace may use together. Pure.
// Guarantees: it counts what can be counted, for scopes that do not exclude one another and never change;
// its status counts nothing else.
import { type Cause, checkImmutable, checkName, invalidValue, notSupported, required } from '../causes.js';
import { ageColumn, column, nameColumn } from '../columns.js';
import type {
  V1ResourceQuota,
  V1ResourceQuotaSpec,
  V1ScopedResourceSelectorRequirement,
} from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { qualifiedName } from '../names.js';
import { RESOURCE_QUOTAS } from '../resources.js';
import { COUNTED, validateAmount } from './amounts.js';
import { isNewStatus } from './statusChecks.js';

const STANDARD = new Set([
  ...COUNTED,
  'cpu',
  'memory',
  'ephemeral-storage',
  'storage',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
]);
const PLAIN_SCOPES = ['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort'];
const SCOPES = [...PLAIN_SCOPES, 'PriorityClass', 'CrossNamespacePodAffinity', 'VolumeAttributesClass'];
const CONFLICTS = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

export const resourceQuotaKind: KindDefinition<V1ResourceQuota> = {
  type: RESOURCE_QUOTAS,
  singular: 'resourcequota',
  shortNames: ['quota'],
  categories: [],
  model: 'V1ResourceQuota',
  hasStatus: true,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  prepareForCreate(draft) {
    draft.status = {};
  },
  validate: (quota, old) => [
    ...validateQuota(quota.spec ?? {}),
    ...(isNewStatus(quota, old)
      ? [
          ...validateAmounts(quota.status?.hard, 'status.hard'),
          ...validateAmounts(quota.status?.used, 'status.used'),
        ]
      : []),
    ...(old === undefined
      ? []
      : [
          ...checkImmutable(
            'spec.scopes',
            'V1ResourceQuotaSpec.scopes',
            quota.spec?.scopes,
            old.spec?.scopes,
          ),
          ...checkImmutable(
            'spec.scopeSelector',
            'V1ResourceQuotaSpec.scopeSelector',
            quota.spec?.scopeSelector,
            old.spec?.scopeSelector,
          ),
        ]),
  ],
  columns: [
    nameColumn,
    column('Request', (quota) => usedCell(quota, (name) => !name.startsWith('limits')), {
      description: 'What is used of what may be asked for.',
    }),
    column('Limit', (quota) => usedCell(quota, (name) => name.startsWith('limits')), {
      description: 'What is used of what limits may add up to.',
    }),
    ageColumn,
  ],
};

function usedCell({ status }: V1ResourceQuota, isShown: (name: string) => boolean): string {
  const { hard = {}, used = {} } = status ?? {};
  return Object.keys(hard)
    .filter(isShown)
    .sort()
    .map((name) => `${name}: ${used[name] ?? '0'}/${hard[name]}`)
    .join(', ');
}

function validateQuota({ hard = {}, scopes = [], scopeSelector }: V1ResourceQuotaSpec): Cause[] {
  const expressions = scopeSelector?.matchExpressions ?? [];
  return [
    ...validateAmounts(hard, 'spec.hard'),
    ...validateScopes(scopes, Object.keys(hard)),
    ...expressions.flatMap((expression, index) =>
      validateExpression(expression, `spec.scopeSelector.matchExpressions[${index}]`),
    ),
  ];
}

function validateAmounts(amounts: Readonly<Record<string, string>> | undefined, list: string): Cause[] {
  return Object.entries(amounts ?? {}).flatMap(([name, amount]) => {
    const at = `${list}[${name}]`;
    return [...validateName(name, at), ...validateAmount(name, amount, at)];
  });
}

const isStandard = (name: string) =>
  STANDARD.has(name) || /^(requests\.)?hugepages-/.test(name) || name.startsWith('count/');

function validateName(name: string, at: string): Cause[] {
  const causes = checkName(at, name, qualifiedName);
  return causes.length === 0 && !name.includes('/') && !isStandard(name)
    ? [
        invalidValue(at, name, 'must be a standard resource type or fully qualified'),
        invalidValue(at, name, 'must be a standard resource for quota'),
      ]
    : causes;
}

function validateScopes(scopes: readonly string[], resources: readonly string[]): Cause[] {
  const at = 'spec.scopes';
  if (new Set(scopes).size !== scopes.length) return [invalidValue(at, scopes, 'duplicate scopes')];
  const causes = scopes.flatMap((scope) => {
    if (!SCOPES.includes(scope)) return [invalidValue(at, scopes, 'unsupported scope')];
    const isOnlyPods = scope === 'BestEffort';
    return isOnlyPods && resources.some((name) => name !== 'pods')
      ? [invalidValue(at, scopes, 'unsupported scope applied to resource')]
      : [];
  });
  for (const pair of CONFLICTS)
    if (pair.every((scope) => scopes.includes(scope)))
      causes.push(invalidValue(at, scopes, 'conflicting scopes'));
  return causes;
}

function validateExpression(
  { scopeName, operator, values = [] }: V1ScopedResourceSelectorRequirement,
  at: string,
): Cause[] {
  const causes: Cause[] = SCOPES.includes(scopeName)
    ? []
    : [invalidValue(`${at}.scopeName`, scopeName, 'unsupported scope')];
  if (PLAIN_SCOPES.includes(scopeName) && operator !== 'Exists')
    causes.push(
      invalidValue(
        `${at}.operator`,
        operator,
        "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      ),
    );
  const wantsValues = operator === 'In' || operator === 'NotIn';
  if (wantsValues && values.length === 0)
    causes.push(
      required(
        `${at}.values`,
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      ),
    );
  else if (!wantsValues && values.length > 0)
    causes.push(
      invalidValue(
        `${at}.values`,
        values,
        "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
      ),
    );
  if (!['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator))
    causes.push(notSupported(`${at}.operator`, operator, ['In', 'NotIn', 'Exists', 'DoesNotExist']));
  return causes;
}
