// The kinds that bound others: LimitRange, ResourceQuota, PodDisruptionBudget, PriorityClass, RuntimeClass.
import { describe, expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { limitRangeKind } from '../../../../src/api/kinds/limitRange.js';
import { podDisruptionBudgetKind } from '../../../../src/api/kinds/podDisruptionBudget.js';
import { priorityClassKind, SYSTEM_PRIORITY_CLASSES } from '../../../../src/api/kinds/priorityClass.js';
import { resourceQuotaKind } from '../../../../src/api/kinds/resourceQuota.js';
import { runtimeClassKind } from '../../../../src/api/kinds/runtimeClass.js';
import { cellsOf, create, faultsOf, faultsOfUpdate } from './support.js';

const creationTimestamp = '2026-01-01T00:00:00Z';
const now = Date.parse('2026-01-01T00:01:30Z');
const cluster = { name: 'x', creationTimestamp };
const metadata = { ...cluster, namespace: 'default' };
const limits = (item: object) => ({ metadata, spec: { limits: [{ type: 'Container', ...item }] } });
const quota = (spec: object) => ({ metadata, spec });
const budget = (spec: object) => ({ metadata, spec });

test('fills the defaults of containers from their bounds', () => {
  const item = { max: { cpu: '2', memory: '1Gi' }, min: { cpu: '1' }, default: { memory: '512Mi' } };
  expect(create(limitRangeKind, limits(item)).spec?.limits[0]).toMatchObject({
    default: { cpu: '2', memory: '512Mi' },
    defaultRequest: { cpu: '2', memory: '512Mi' },
  });
  const onlyMin = create(limitRangeKind, limits({ min: { cpu: '1' } })).spec?.limits[0];
  expect(onlyMin).toEqual({ type: 'Container', min: { cpu: '1' }, defaultRequest: { cpu: '1' } });
});

describe('refuses', () => {
  const asAny = (kind: unknown) => kind as KindDefinition;
  test.each<[string, KindDefinition, object, string[]]>([
    [
      'a least above the most',
      asAny(limitRangeKind),
      { metadata, spec: { limits: [{ type: 'Pod', min: { cpu: '2' }, max: { cpu: '1' } }] } },
      ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
    ],
    [
      'defaults of whole pods',
      asAny(limitRangeKind),
      { metadata, spec: { limits: [{ type: 'Pod', default: { cpu: '1' } }] } },
      ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
    ],
    [
      'a type twice',
      asAny(limitRangeKind),
      { metadata, spec: { limits: [{ type: 'Pod' }, { type: 'Pod' }] } },
      ['spec.limits[1].type: Duplicate value: "Pod"'],
    ],
    [
      'a count that is no count',
      asAny(resourceQuotaKind),
      quota({ hard: { pods: '1500m' } }),
      ['spec.hard[pods]: Invalid value: "1500m": must be an integer'],
    ],
    [
      'something nobody counts',
      asAny(resourceQuotaKind),
      quota({ hard: { luck: '1' } }),
      [
        'spec.hard[luck]: Invalid value: "luck": must be a standard resource type or fully qualified',
        'spec.hard[luck]: Invalid value: "luck": must be a standard resource for quota',
      ],
    ],
    [
      'scopes that exclude each other',
      asAny(resourceQuotaKind),
      quota({ hard: { pods: '1' }, scopes: ['BestEffort', 'NotBestEffort'] }),
      ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
    ],
    [
      'CPU of those who ask for none',
      asAny(resourceQuotaKind),
      quota({ hard: { cpu: '1' }, scopes: ['BestEffort'] }),
      ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
    ],
    [
      'a budget from both sides',
      asAny(podDisruptionBudgetKind),
      budget({ minAvailable: 1, maxUnavailable: 1 }),
      [expect.stringContaining('minAvailable and maxUnavailable cannot be both set')],
    ],
    [
      'more than all',
      asAny(podDisruptionBudgetKind),
      budget({ maxUnavailable: '101%' }),
      ['spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ],
    [
      'a priority above those of users',
      asAny(priorityClassKind),
      { metadata: cluster, value: 1_000_000_001 },
      ['value: Forbidden: maximum allowed value of a user defined priority is 1000000000'],
    ],
    [
      'a name of the system',
      asAny(priorityClassKind),
      { metadata: { name: 'system-mine' }, value: 1 },
      [expect.stringContaining("names with 'system-' prefix are reserved for system use only")],
    ],
    [
      'a runtime without a handler',
      asAny(runtimeClassKind),
      { metadata: cluster },
      ['handler: Required value'],
    ],
  ])('%s', (_, kind, body, faults) => {
    expect(faultsOf(kind, body)).toEqual(faults);
  });
});

test('keeps the number behind a priority, the handler behind a runtime, the scopes of a quota', () => {
  const priority = (value: number) => ({ metadata: cluster, value });
  expect(faultsOfUpdate(priorityClassKind, priority(1), priority(2))).toEqual([
    'value: Forbidden: may not be changed in an update.',
  ]);
  const runtime = (handler: string) => ({ metadata: cluster, handler });
  expect(faultsOfUpdate(runtimeClassKind, runtime('a'), runtime('b'))).toEqual([
    'handler: Invalid value: "b": field is immutable',
  ]);
  expect(faultsOfUpdate(resourceQuotaKind, quota({}), quota({ scopes: ['Terminating'] }))).toEqual([
    'spec.scopes: Invalid value: ["Terminating"]: field is immutable',
  ]);
});

test('takes the two priority classes that every cluster has', () => {
  for (const some of SYSTEM_PRIORITY_CLASSES) expect(faultsOf(priorityClassKind, some)).toEqual([]);
});

test('prints them as kubectl does', () => {
  const status = { hard: { pods: '2', 'limits.cpu': '4', cpu: '1' }, used: { pods: '1', cpu: '500m' } };
  expect(cellsOf(resourceQuotaKind, { metadata, status }, now)).toEqual([
    'x',
    'cpu: 500m/1, pods: 1/2',
    'limits.cpu: 0/4',
    '90s',
  ]);
  const pdb = { ...budget({ maxUnavailable: '20%' }), status: { disruptionsAllowed: 3 } };
  expect(cellsOf(podDisruptionBudgetKind, pdb, now)).toEqual(['x', 'N/A', '20%', '3', '90s']);
});
