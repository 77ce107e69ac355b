// Deployment, ReplicaSet, StatefulSet, DaemonSet and the older kinds: defaults, selectors, rollouts, columns, scale.
import { describe, expect, test } from 'vitest';
import type { V1DaemonSet } from '../../../../src/api/gen/types.js';
import { controllerRevisionKind } from '../../../../src/api/kinds/controllerRevision.js';
import { daemonSetKind } from '../../../../src/api/kinds/daemonSet.js';
import { deploymentKind } from '../../../../src/api/kinds/deployment.js';
import { podKind } from '../../../../src/api/kinds/pod.js';
import { replicaSetKind } from '../../../../src/api/kinds/replicaSet.js';
import { replicationControllerKind } from '../../../../src/api/kinds/replicationController.js';
import { statefulSetKind } from '../../../../src/api/kinds/statefulSet.js';
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

test('gets the defaults of Kubernetes', () => {
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

test('leaves to its pods what is theirs alone', () => {
  const ports = [{ containerPort: 80 }];
  const container = { name: 'c', image: 'i', ports, resources: { limits: { cpu: '1' } } };
  const spec = { hostNetwork: true, terminationGracePeriodSeconds: -1, containers: [container] };
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec };
  const body = {
    metadata: { name: 'w', namespace: 'd' },
    spec: { selector: { matchLabels: labels }, template },
  };
  const made = create(deploymentKind, body).spec?.template?.spec;
  expect(made).not.toHaveProperty('enableServiceLinks');
  expect(made?.terminationGracePeriodSeconds).toBe(-1);
  expect(made?.containers[0]?.resources).toEqual({ limits: { cpu: '1' } });
  expect(made?.containers[0]?.ports).toEqual([{ containerPort: 80, protocol: 'TCP' }]);
  expect(faultsOf(deploymentKind, body)).toEqual([]);
  const pod = create(podKind, { metadata: { name: 'p', namespace: 'd' }, spec }).spec;
  expect(pod).toMatchObject({ enableServiceLinks: true, terminationGracePeriodSeconds: 1 });
  expect(pod?.containers[0]?.resources?.requests).toEqual({ cpu: '1' });
  expect(pod?.containers[0]?.ports?.[0]?.hostPort).toBe(80);
});

describe('checks', () => {
  test('pass good ones', () => {
    expect(faultsOf(deploymentKind, workload())).toEqual([]);
    expect(faultsOf(replicaSetKind, workload())).toEqual([]);
  });

  test.each<[string, object, string[]]>([
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

  test('refuse another selector', () => {
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

test('prints what kubectl prints', () => {
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
    'NAME',
    'READY',
    'UP-TO-DATE',
    'AVAILABLE',
    'AGE',
    'CONTAINERS',
    'IMAGES',
    'SELECTOR',
  ]);
  expect(cellsOf(replicaSetKind, object, now)).toEqual(['web', '3', '3', '2', '90s', 'c', 'i:1', 'app=web']);
});

test('scales', () => {
  const draft = create(deploymentKind, workload());
  deploymentKind.scale?.setReplicas(draft, 7);
  expect(deploymentKind.scale?.replicas(draft)).toBe(7);
  expect(deploymentKind.scale?.statusReplicas(draft)).toBe(0);
  expect(deploymentKind.scale?.selector(draft)).toBe('app=web');
});

describe('a StatefulSet', () => {
  const set = (spec: object = {}) => workload({ serviceName: 's', ...spec });

  test('gets the defaults of Kubernetes', () => {
    const claims = [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } }];
    expect(create(statefulSetKind, set({ volumeClaimTemplates: claims })).spec).toMatchObject({
      replicas: 1,
      podManagementPolicy: 'OrderedReady',
      revisionHistoryLimit: 10,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      volumeClaimTemplates: [{ spec: { volumeMode: 'Filesystem' }, status: { phase: 'Pending' } }],
    });
  });

  test('may change its template and number, not what its pods are known by', () => {
    expect(
      faultsOfUpdate(statefulSetKind, set(), set({ replicas: 3, ...template({ hostname: 'h' }) })),
    ).toEqual([]);
    expect(faultsOfUpdate(statefulSetKind, set(), set({ serviceName: 'other' }))).toEqual([
      expect.stringMatching(/^spec: Forbidden: updates to statefulset spec for fields other than 'replicas'/),
    ]);
  });

  test.each<[string, object, string]>([
    ['an order that is none', { podManagementPolicy: 'Odd' }, "must be 'OrderedReady' or 'Parallel'"],
    [
      'a partition without an update',
      { updateStrategy: { type: 'OnDelete', rollingUpdate: {} } },
      "only allowed for updateStrategy 'RollingUpdate'",
    ],
    [
      'a deadline for its pods',
      template({ activeDeadlineSeconds: 5 }),
      'activeDeadlineSeconds in StatefulSet is not Supported',
    ],
  ])('is refused with %s', (_, spec, fault) => {
    expect(faultsOf(statefulSetKind, set(spec))).toEqual([expect.stringContaining(fault)]);
  });

  test('prints as kubectl does', () => {
    const object = {
      ...create(statefulSetKind, set({ replicas: 3 })),
      status: { replicas: 3, readyReplicas: 2 },
    };
    expect(cellsOf(statefulSetKind, object, now)).toEqual(['web', '2/3', '90s', 'c', 'i:1']);
  });
});

describe('a DaemonSet', () => {
  test('counts the changes of its template in an annotation that nobody can take away', () => {
    const countOf = ({ metadata: { annotations } = {} }: V1DaemonSet) =>
      annotations?.['deprecated.daemonset.template.generation'];
    const first = create(daemonSetKind, workload());
    expect(countOf(first)).toBe('1');
    const updated = (old: V1DaemonSet, spec: object) => {
      const draft = structuredClone({ ...create(daemonSetKind, workload(spec)), metadata }) as never;
      daemonSetKind.prepareForUpdate?.(draft, old, { time: '', subresource: '' } as never);
      return draft as V1DaemonSet;
    };
    expect(countOf(updated(first, { minReadySeconds: 3 }))).toBe('1');
    const second = updated(first, template({ hostNetwork: true }));
    expect(countOf(second)).toBe('2');
    expect(countOf(updated(second, template({})))).toBe('3');
  });
  const strategy = (rollingUpdate: object) =>
    workload({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } });

  test('replaces one pod after another', () => {
    expect(create(daemonSetKind, workload()).spec?.updateStrategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
    });
  });

  test.each<[string, object, string]>([
    ['no room to move', strategy({ maxUnavailable: 0 }), 'cannot be 0 when maxSurge is 0'],
    [
      'both ways to move',
      strategy({ maxUnavailable: 1, maxSurge: 1 }),
      'may not be set when maxUnavailable is non-zero',
    ],
  ])('is refused with %s', (_, body, fault) => {
    expect(faultsOf(daemonSetKind, body)).toEqual([expect.stringContaining(fault)]);
  });

  test('prints as kubectl does', () => {
    const status = { desiredNumberScheduled: 3, currentNumberScheduled: 2, numberReady: 1 };
    const object = { ...create(daemonSetKind, workload(template({ nodeSelector: { a: 'b' } }))), status };
    expect(cellsOf(daemonSetKind, object, now)).toEqual([
      'web',
      '3',
      '2',
      '1',
      '0',
      '0',
      'a=b',
      '90s',
      'c',
      'i:1',
      'app=web',
    ]);
  });
});

test('a ReplicationController selects and is labelled as its template is', () => {
  const { selector: _, ...spec } = workload().spec;
  const created = create(replicationControllerKind, { metadata, spec });
  expect(created).toMatchObject({
    metadata: { labels: { app: 'web' } },
    spec: { selector: { app: 'web' }, replicas: 1 },
  });
  expect(replicationControllerKind.scale?.selector(created)).toBe('app=web');
  expect(
    faultsOf(replicationControllerKind, { metadata, spec: { ...spec, selector: { app: 'x' } } }),
  ).toEqual([expect.stringContaining('`selector` does not match template `labels`')]);
});

test('a ControllerRevision keeps its data and prints its controller', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'web', uid: 'u', controller: true };
  const revision = (data: object) => ({
    metadata: { ...metadata, ownerReferences: [owner] },
    revision: 2,
    data,
  });
  expect(cellsOf(controllerRevisionKind, revision({}), now)).toEqual([
    'web',
    'daemonset.apps/web',
    '2',
    '90s',
  ]);
  expect(faultsOfUpdate(controllerRevisionKind, revision({ a: 1 }), revision({ a: 2 }))).toEqual([
    'data: Invalid value: {"a":2}: field is immutable',
  ]);
});
