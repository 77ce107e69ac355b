// Deployment and ReplicaSet: defaults, selectors, rollouts, columns, scale.
import { describe, expect, it } from 'vitest';
import { deploymentKind } from '../../../../src/api/kinds/deployment.js';
import { replicaSetKind } from '../../../../src/api/kinds/replicaSet.js';
import { cellsOf, create, faultsOf, faultsOfUpdate } from './support.js';

const metadata = { name: 'web', namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' };
const now = Date.parse('2026-01-01T00:01:30Z');
const workload = (spec: object = {}) => ({
  metadata,
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
    ...spec,
  },
});
const template = (podSpec: object) => ({
  template: {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'i:1' }], ...podSpec },
  },
});

it('gets the defaults of Kubernetes', () => {
  const { spec } = create(deploymentKind, workload({ strategy: {} }));
  expect(spec).toMatchObject({
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
    template: { spec: { restartPolicy: 'Always', containers: [{ imagePullPolicy: 'IfNotPresent' }] } },
  });
  expect(create(deploymentKind, workload({ replicas: 0 })).spec?.replicas).toBe(0);
  expect(create(deploymentKind, workload({ strategy: { type: 'Recreate' } })).spec?.strategy).toEqual({
    type: 'Recreate',
  });
});

describe('checks', () => {
  it('pass good ones', () => {
    expect(faultsOf(deploymentKind, workload())).toEqual([]);
    expect(faultsOf(replicaSetKind, workload())).toEqual([]);
  });

  it.each<[string, object, string[]]>([
    [
      'no spec',
      { metadata },
      ['spec.selector: Required value', 'spec.template.spec.containers: Required value'],
    ],
    [
      'a selector that misses the template',
      workload({ selector: { matchLabels: { app: 'x' } } }),
      [
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
      ],
    ],
    [
      'an empty selector',
      workload({ selector: {} }),
      ['spec.selector: Invalid value: {}: empty selector is invalid for deployment'],
    ],
    [
      'less than no replicas',
      workload({ replicas: -1 }),
      ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'pods that end',
      workload(template({ restartPolicy: 'Never' })),
      ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
    [
      'a rollout that cannot move',
      workload({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } } }),
      ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
    ],
    [
      'bounds for a strategy that has none',
      workload({ strategy: { type: 'Recreate', rollingUpdate: {} } }),
      ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ],
    [
      'a deadline before readiness',
      workload({ minReadySeconds: 600 }),
      ['spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds'],
    ],
    [
      'a template that is no pod',
      workload(template({ containers: [] })),
      ['spec.template.spec.containers: Required value'],
    ],
  ])('refuse %s', (_, body, sentences) => {
    expect(faultsOf(deploymentKind, body)).toEqual(sentences);
  });

  it('refuse another selector', () => {
    const labels = { app: 'web', v: '2' };
    const after = workload({
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i:1' }] } },
    });
    expect(faultsOfUpdate(deploymentKind, workload(), after)).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"app":"web","v":"2"}}: field is immutable',
    ]);
    expect(faultsOfUpdate(deploymentKind, workload(), workload({ replicas: 5 }))).toEqual([]);
  });
});

it('prints what kubectl prints', () => {
  const status = { replicas: 3, readyReplicas: 2, updatedReplicas: 3, availableReplicas: 2 };
  const object = { ...create(deploymentKind, workload({ replicas: 3 })), status };
  expect(cellsOf(deploymentKind, object, now)).toEqual([
    'web',
    '2/3',
    '3',
    '2',
    '90s',
    'c',
    'i:1',
    'app=web',
  ]);
  expect(deploymentKind.columns.map(({ name }) => name.toUpperCase())).toEqual([
    ...['NAME', 'READY', 'UP-TO-DATE', 'AVAILABLE', 'AGE', 'CONTAINERS', 'IMAGES', 'SELECTOR'],
  ]);
  expect(cellsOf(replicaSetKind, object, now)).toEqual(['web', '3', '3', '2', '90s', 'c', 'i:1', 'app=web']);
});

it('scales', () => {
  const draft = create(deploymentKind, workload());
  deploymentKind.scale?.setReplicas(draft, 7);
  expect(deploymentKind.scale?.replicas(draft)).toBe(7);
  expect(deploymentKind.scale?.statusReplicas(draft)).toBe(0);
  expect(deploymentKind.scale?.selector(draft)).toBe('app=web');
});
