// HorizontalPodAutoscaler: defaults, checks, the cell of targets, and its older form there and back.
import { describe, expect, test } from 'vitest';
import type { V2HorizontalPodAutoscaler } from '../../../../src/api/gen/types.js';
import type { Draft } from '../../../../src/api/kind.js';
import { horizontalPodAutoscalerKind as kind } from '../../../../src/api/kinds/autoscaling/horizontalPodAutoscaler.js';
import { autoscalingV1 } from '../../../../src/api/kinds/autoscaling/v1.js';
import type { KubeObject } from '../../../../src/api/object.js';
import { cellsOf, create, faultsOf } from './support.js';

const now = Date.parse('2026-01-01T00:01:30Z');
const metadata = { name: 'x', namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' };
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const body = (spec: object = {}) => ({ metadata, spec: { scaleTargetRef, maxReplicas: 3, ...spec } });
const cpu = (target: object) => ({ type: 'Resource', resource: { name: 'cpu', target } });
const half = cpu({ type: 'Utilization', averageUtilization: 50 });
const queue = {
  type: 'External',
  external: { metric: { name: 'queue' }, target: { type: 'AverageValue', averageValue: '30' } },
};

test('measures the CPU when nothing else was said, and moves at the usual speed', () => {
  expect(create(kind, body({ behavior: { scaleDown: { selectPolicy: 'Min' } } })).spec).toMatchObject({
    minReplicas: 1,
    metrics: [cpu({ type: 'Utilization', averageUtilization: 80 })],
    behavior: {
      scaleUp: {
        stabilizationWindowSeconds: 0,
        selectPolicy: 'Max',
        policies: [
          { type: 'Pods', value: 4, periodSeconds: 15 },
          { type: 'Percent', value: 100, periodSeconds: 15 },
        ],
      },
      scaleDown: { selectPolicy: 'Min', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
    },
  });
  expect(create(kind, body()).spec).not.toHaveProperty('behavior');
});

describe('is refused with', () => {
  test.each<[string, object, string]>([
    [
      'no most',
      { maxReplicas: 0, minReplicas: undefined },
      'spec.maxReplicas: Required value: must be set and greater than 0',
    ],
    [
      'less than nothing as the most',
      { maxReplicas: -1, minReplicas: undefined },
      'spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1',
    ],
    [
      'a target without a group',
      { scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'v1' } },
      'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
    ],
    [
      'a target of a version that is none',
      { scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'a/b/c' } },
      'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ],
    [
      'a range that is empty',
      { minReplicas: 5 },
      'spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`',
    ],
    [
      'nothing to scale',
      { scaleTargetRef: { kind: 'Deployment' } },
      'spec.scaleTargetRef.name: Required value',
    ],
    [
      'a type that is none',
      { metrics: [{ type: 'Mood' }] },
      'spec.metrics[0].type: Unsupported value: "Mood": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
    [
      'a type without its source',
      { metrics: [{ type: 'Pods' }] },
      'spec.metrics[0].pods: Required value: must populate information for the given metric source',
    ],
    [
      'no target to reach',
      { metrics: [cpu({ type: 'Utilization' })] },
      'spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
    ],
    [
      'a speed over an hour',
      { behavior: { scaleUp: { policies: [{ type: 'Pods', value: 1, periodSeconds: 3600 }] } } },
      'spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 3600: must be less than or equal to 1800',
    ],
  ])('%s', (_, spec, fault) => {
    expect(faultsOf(kind, body(spec))).toContain(fault);
  });
});

test('prints two targets, and how many more there are', () => {
  const status = {
    currentReplicas: 2,
    currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 20 } } }],
  };
  const object = { ...body({ minReplicas: 1, metrics: [half, queue, queue] }), status };
  expect(cellsOf(kind, object, now)).toEqual([
    'x',
    'Deployment/web',
    'cpu: 20%/50%, <unknown>/30 (avg) + 1 more...',
    '1',
    '3',
    '2',
    '90s',
  ]);
});

describe('the older form', () => {
  const stored: V2HorizontalPodAutoscaler = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    ...body({ metrics: [half, queue], behavior: { scaleUp: { selectPolicy: 'Max' } } }),
    status: {
      currentReplicas: 1,
      desiredReplicas: 2,
      conditions: [{ type: 'AbleToScale', status: 'True' }],
    },
  };

  test('shows the share of the CPU as a number, and carries the rest along', () => {
    const shown = autoscalingV1.fromStored(stored);
    expect(shown).toMatchObject({
      apiVersion: 'autoscaling/v1',
      spec: { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
      status: { currentReplicas: 1, desiredReplicas: 2 },
    });
    expect(Object.keys(shown.metadata?.annotations ?? {})).toHaveLength(3);
  });

  test('comes back whole', () => {
    const shown = structuredClone(autoscalingV1.fromStored(stored)) as Draft<KubeObject>;
    expect(autoscalingV1.toStored(shown)).toEqual(stored);
  });

  test('refuses what it did not carry itself', () => {
    const annotations = { 'autoscaling.alpha.kubernetes.io/metrics': '[1]' };
    const draft = { ...body(), metadata: { ...metadata, annotations } };
    expect(() => autoscalingV1.toStored(draft)).toThrow('cannot be read');
  });
});
