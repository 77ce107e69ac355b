// How many pods an autoscaler asks for, and how fast it may have them.
import { describe, expect, test } from 'vitest';
import type { V2HorizontalPodAutoscalerSpec } from '../../../../src/api/gen/types.js';
import { AUTOSCALER_DEFAULTS } from '../../../../src/controllers/hpa/controller.js';
import { limitReplicas } from '../../../../src/controllers/hpa/limits.js';
import { requestsOf } from '../../../../src/controllers/hpa/metrics.js';
import { type MetricResult, metricEvents, planAutoscaler } from '../../../../src/controllers/hpa/plan.js';
import {
  groupPods,
  perPodReplicas,
  sharedReplicas,
  totalReplicas,
} from '../../../../src/controllers/hpa/replicas.js';
import { ago, NOW, pod } from '../support/objects.js';

const tolerances = { up: 0.1, down: 0.1 };
const at = { atMs: NOW, windowMs: 30_000 };
const measured = (...values: number[]) =>
  new Map(values.map((value, index) => [`p${index}`, { value, ...at }]));
const names = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `p${from + index}`);

describe('perPodReplicas', () => {
  const requests = new Map(names(10).map((name) => [name, 1000]));
  const ask = (values: number[], { unready = 0, missing = 0 }: { unready?: number; missing?: number } = {}) =>
    perPodReplicas({
      current: values.length + unready + missing,
      groups: {
        ready: names(values.length),
        unready: names(unready, values.length),
        missing: names(missing, values.length + unready),
      },
      measured: measured(...values),
      target: 0.5,
      requests,
      tolerances,
    })?.replicas;
  test.each([
    ['grows', ask([1000, 1000]), 4],
    ['shrinks', ask([200, 200, 200, 200]), 2],
    ['leaves small differences', ask([540, 540]), 2],
    ['leaves small differences downwards', ask([460, 460]), 2],
    ['takes unready pods to do nothing when it grows', ask([900, 900], { unready: 2 }), 4],
    ['takes unmeasured pods to do nothing when it grows', ask([1000, 1000], { missing: 1 }), 4],
    ['takes unmeasured pods to do all they may when it shrinks', ask([100, 100], { missing: 2 }), 4],
    [
      'asks nothing of unmeasured pods when the others are at their target',
      ask([500, 500, 500], { missing: 2 }),
      5,
    ],
    ['does not know without a measurement', ask([]), undefined],
  ])('%s', (_, replicas, wanted) => {
    expect(replicas).toBe(wanted);
  });
});

describe('one value for all', () => {
  test('scales the pods in proportion', () => {
    const base = { current: 3, readyPods: 3, target: 100, tolerances };
    expect([300, 105, 50].map((value) => totalReplicas({ ...base, value }).replicas)).toEqual([9, 3, 2]);
    expect(totalReplicas({ ...base, current: 0, readyPods: 0, value: 250 }).replicas).toBe(3);
  });
  test('divides it among the pods', () => {
    const base = { current: 3, targetPerPod: 100, tolerances };
    expect([900, 310, 100].map((value) => sharedReplicas({ ...base, value }).replicas)).toEqual([9, 3, 1]);
  });
});

describe('groupPods', () => {
  const started = (seconds: number, ready: boolean) => {
    const base = pod('p0', { ready, readyFor: 10 });
    return { ...base, status: { ...base.status, startTime: ago(seconds) } };
  };
  const groupOf = (of: ReturnType<typeof pod>, resource = 'cpu') => {
    const { ready, unready, missing } = groupPods([of], measured(1), {
      resource,
      now: NOW,
      times: AUTOSCALER_DEFAULTS,
    });
    return ready.length > 0
      ? 'ready'
      : unready.length > 0
        ? 'unready'
        : missing.length > 0
          ? 'missing'
          : 'ignored';
  };
  test.each([
    ['an old pod', started(3600, true), 'cpu', 'ready'],
    ['one that has just become ready', started(60, true), 'cpu', 'unready'],
    ['the same, for memory', started(60, true), 'memory', 'ready'],
    ['one that is pending', pod('p0', { phase: 'Pending' }), 'cpu', 'unready'],
    ['one that nobody measured', pod('other'), 'cpu', 'missing'],
    ['one that has failed', pod('p0', { phase: 'Failed' }), 'cpu', 'ignored'],
  ])('%s', (_, of, resource, wanted) => {
    expect(groupOf(of, resource)).toBe(wanted);
  });
});

describe('limitReplicas', () => {
  const limit = (
    current: number,
    desired: number,
    more: Partial<V2HorizontalPodAutoscalerSpec> = {},
    memory: object = {},
  ) => {
    const spec = { maxReplicas: 100, scaleTargetRef: { kind: 'Deployment', name: 'web' }, ...more };
    const { replicas, reason } = limitReplicas({
      spec,
      current,
      desired,
      recommendations: [],
      events: [],
      now: NOW,
      ...memory,
    });
    return [replicas, reason];
  };
  const policy = (type: string, value: number) => ({ type, value, periodSeconds: 60 });
  test.each([
    ['doubles at most', limit(10, 50), [20, 'ScaleUpLimit']],
    ['or adds four', limit(1, 50), [5, 'ScaleUpLimit']],
    ['stops at the most', limit(10, 50, { maxReplicas: 12 }), [12, 'TooManyReplicas']],
    ['stops at the fewest', limit(10, 0, { minReplicas: 2 }), [2, 'TooFewReplicas']],
    ['goes where it is asked', limit(10, 12), [12, 'DesiredWithinRange']],
    [
      'shrinks only to the highest wish of the last five minutes',
      limit(
        10,
        2,
        {},
        {
          recommendations: [
            { replicas: 7, atMs: NOW - 200_000 },
            { replicas: 9, atMs: NOW - 400_000 },
          ],
        },
      ),
      [7, 'DesiredWithinRange'],
    ],
    [
      'grows only to the lowest wish of its window',
      limit(
        2,
        6,
        { behavior: { scaleUp: { stabilizationWindowSeconds: 60 } } },
        { recommendations: [{ replicas: 3, atMs: NOW - 30_000 }] },
      ),
      [3, 'DesiredWithinRange'],
    ],
    [
      'keeps the pace of a policy',
      limit(10, 1, { behavior: { scaleDown: { policies: [policy('Pods', 3)] } } }),
      [7, 'ScaleDownLimit'],
    ],
    [
      'counts what was scaled in the period',
      limit(
        10,
        1,
        { behavior: { scaleDown: { policies: [policy('Pods', 3)] } } },
        { events: [{ change: -2, atMs: NOW - 10_000 }] },
      ),
      [9, 'ScaleDownLimit'],
    ],
    [
      'takes the slower policy when asked',
      limit(10, 1, {
        behavior: {
          scaleDown: { selectPolicy: 'Min', policies: [policy('Pods', 3), policy('Percent', 50)] },
        },
      }),
      [7, 'ScaleDownLimit'],
    ],
    [
      'does not shrink when that is switched off',
      limit(10, 1, { behavior: { scaleDown: { selectPolicy: 'Disabled' } } }),
      [10, 'ScaleDownLimit'],
    ],
  ])('%s', (_, result, wanted) => {
    expect(result).toEqual(wanted);
  });
});

describe('metrics that cannot be had', () => {
  const failed = { error: 'no metrics', reason: 'FailedGetResourceMetric' };
  const found: MetricResult = { replicas: 1, name: 'cpu', status: { type: 'Resource' } };
  test('are told one by one, and together when there is no other', () => {
    expect(metricEvents([found, failed]).map(({ reason }) => reason)).toEqual(['FailedGetResourceMetric']);
    expect(metricEvents([failed])).toEqual([
      { reason: 'FailedGetResourceMetric', message: 'no metrics' },
      {
        reason: 'FailedComputeMetricsReplicas',
        message: 'invalid metrics (1 invalid out of 1), first error is: no metrics',
      },
    ]);
  });
});

describe('requestsOf', () => {
  test('takes the request of the pod for those of its containers', () => {
    const resources = { requests: { cpu: '2' } };
    expect(requestsOf([pod('p0', { spec: { resources } })], 'cpu').get('p0')).toBe(2000);
    expect(() => requestsOf([pod('p0', { spec: { resources } })], 'cpu', 'main')).toThrow('missing request');
  });
});

describe('planAutoscaler', () => {
  const asks = (replicas: number): MetricResult => ({
    replicas,
    name: 'cpu resource',
    status: { type: 'Resource' },
  });
  const broken: MetricResult = { error: 'no answer', reason: 'FailedGetResourceMetric' };
  const plan = (specReplicas: number, metrics: MetricResult[], minReplicas = 1) =>
    planAutoscaler({
      autoscaler: {
        metadata: pod('web').metadata,
        spec: { minReplicas, maxReplicas: 10, scaleTargetRef: { kind: 'Deployment', name: 'web' } },
        status: { desiredReplicas: 0 },
      },
      specReplicas,
      statusReplicas: specReplicas,
      metrics,
      recommendations: [],
      events: [],
      now: NOW,
    });
  const reasonOf = (of: ReturnType<typeof plan>, type: string) =>
    of.status.conditions?.find((condition) => condition.type === type)?.reason;
  test.each([
    ['the metric that asks for most', plan(4, [asks(5), asks(6)]), 6],
    ['nothing when all is well', plan(4, [asks(4)]), undefined],
    ['growth also while a metric is missing', plan(4, [asks(6), broken]), 6],
    ['no shrinking while a metric is missing', plan(4, [asks(2), broken]), undefined],
    ['the bounds, whatever the metrics', plan(20, [broken]), 10],
    ['nothing for a target that was switched off', plan(0, [asks(5)]), undefined],
  ])('%s', (_, { scaleTo }, wanted) => {
    expect(scaleTo).toBe(wanted);
  });
  test('says why', () => {
    expect(reasonOf(plan(4, [broken]), 'ScalingActive')).toBe('FailedGetResourceMetric');
    expect(reasonOf(plan(0, []), 'ScalingActive')).toBe('ScalingDisabled');
    expect(reasonOf(plan(4, [asks(6)]), 'AbleToScale')).toBe('SucceededRescale');
  });
});
