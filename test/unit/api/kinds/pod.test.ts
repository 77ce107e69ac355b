// Pod: defaults, class, checks, what may change, what is printed.
import { describe, expect, test } from 'vitest';
import type { V1ContainerStatus, V1Pod } from '../../../../src/api/gen/types.js';
import { pullPolicyFor } from '../../../../src/api/kinds/pod/defaults.js';
import { podKind } from '../../../../src/api/kinds/pod.js';
import { cellsOf, create, faultsOf, faultsOfUpdate } from './support.js';

const metadata = { name: 'web', namespace: 'default' };
const pod = (spec: object, container: object = {}) => ({
  metadata,
  spec: { containers: [{ name: 'c', image: 'busybox:1', ...container }], ...spec },
});

test('gets the defaults of Kubernetes', () => {
  const body = pod(
    {
      volumes: [
        { name: 'a' },
        { name: 'b', secret: { secretName: 's' } },
        { name: 'h', hostPath: { path: '/x' } },
      ],
    },
    {
      ports: [{ containerPort: 80 }],
      livenessProbe: { httpGet: { port: 80 } },
      env: [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
      resources: { limits: { cpu: 1 } },
    },
  );
  expect(create(podKind, body)).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: {
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      schedulerName: 'default-scheduler',
      securityContext: {},
      enableServiceLinks: true,
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', secret: { secretName: 's', defaultMode: 420 } },
        { name: 'h', hostPath: { path: '/x', type: '' } },
      ],
      containers: [
        {
          name: 'c',
          image: 'busybox:1',
          imagePullPolicy: 'IfNotPresent',
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          resources: { limits: { cpu: '1' }, requests: { cpu: '1' } },
          ports: [{ containerPort: 80, protocol: 'TCP' }],
          env: [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP', apiVersion: 'v1' } } }],
          livenessProbe: {
            httpGet: { port: 80, path: '/', scheme: 'HTTP' },
            timeoutSeconds: 1,
            periodSeconds: 10,
            successThreshold: 1,
            failureThreshold: 3,
          },
        },
      ],
    },
    status: { phase: 'Pending', qosClass: 'Burstable' },
  });
});

test.each([
  ['busybox', 'Always'],
  ['busybox:latest', 'Always'],
  ['busybox:1.2', 'IfNotPresent'],
  ['localhost:5000/busybox', 'Always'],
  ['localhost:5000/busybox:1', 'IfNotPresent'],
  ['busybox@sha256:abc', 'IfNotPresent'],
])('%s is pulled %s', (image, policy) => {
  expect(pullPolicyFor(image)).toBe(policy);
});

test.each<[string, object, string]>([
  ['nothing', {}, 'BestEffort'],
  ['other resources only', { limits: { 'example.com/gpu': 1 } }, 'BestEffort'],
  ['a request', { requests: { cpu: '1m' } }, 'Burstable'],
  ['equal limits', { limits: { cpu: 1, memory: '1Gi' } }, 'Guaranteed'],
  ['less than the limits', { limits: { cpu: 1, memory: '1Gi' }, requests: { cpu: '1m' } }, 'Burstable'],
])('asking for %s is %s', (_, resources, qosClass) => {
  expect(create(podKind, pod({}, { resources })).status?.qosClass).toBe(qosClass);
});

describe('checks', () => {
  test('pass a good pod', () => {
    expect(faultsOf(podKind, pod({}))).toEqual([]);
  });

  test.each<[string, object, string]>([
    ['no containers', { metadata, spec: {} }, 'spec.containers: Required value'],
    ['no name', pod({}, { name: '' }), 'spec.containers[0].name: Required value'],
    ['no image', pod({}, { image: '' }), 'spec.containers[0].image: Required value'],
    [
      'a bad restart policy',
      pod({ restartPolicy: 'Sometimes' }),
      'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      'twice the same name',
      pod({ initContainers: [{ name: 'c', image: 'i' }] }),
      'spec.initContainers[0].name: Duplicate value: "c"',
    ],
    [
      'a mount without its volume',
      pod({}, { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ],
    [
      'a port out of range',
      pod({}, { ports: [{ containerPort: 70000 }] }),
      'spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
    [
      'a variable with an equals sign',
      pod({}, { env: [{ name: 'A=B', value: '' }] }),
      'spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than \'=\'',
    ],
    [
      'a request above its limit',
      pod({}, { resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } }),
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
    [
      'a probe that does nothing',
      pod({}, { readinessProbe: {} }),
      'spec.containers[0].readinessProbe: Required value: must specify a handler type',
    ],
    [
      'a volume of two types',
      pod({ volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/' } }] }),
      'spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type',
    ],
    [
      'a path that climbs out',
      pod({ volumes: [{ name: 'v', hostPath: { path: '/a/../..' } }] }),
      'spec.volumes[0].hostPath.path: Invalid value: "/a/../..": must not contain \'..\'',
    ],
    [
      'a sub path that climbs out',
      pod({ volumes: [{ name: 'v' }] }, { volumeMounts: [{ name: 'v', mountPath: '/v', subPath: '../x' }] }),
      'spec.containers[0].volumeMounts[0].subPath: Invalid value: "../x": must not contain \'..\'',
    ],
    [
      'a toleration of everything, by equality',
      pod({ tolerations: [{ operator: 'Equal' }] }),
      'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
  ])('refuse %s', (_, body, sentence) => {
    expect(faultsOf(podKind, body)).toEqual([sentence]);
  });

  test('refuse names in the words of RFC 1123', () => {
    const [fault] = faultsOf(podKind, { ...pod({}), metadata: { ...metadata, name: 'Web_1' } });
    expect(fault).toMatch(
      /^metadata\.name: Invalid value: "Web_1": a lowercase RFC 1123 subdomain must consist of lower case/,
    );
  });
});

describe('an update', () => {
  test.each<[string, object]>([
    ['of the image', pod({}, { image: 'busybox:2' })],
    ['that adds a toleration', pod({ tolerations: [{ key: 'a', operator: 'Exists' }] })],
    ['of the labels', { ...pod({}), metadata: { ...metadata, labels: { a: 'b' } } }],
    ['that sets a deadline', pod({ activeDeadlineSeconds: 5 })],
  ])('%s is taken', (_, after) => {
    expect(faultsOfUpdate(podKind, pod({}), after)).toEqual([]);
  });

  test.each<[string, object]>([
    ['of the command', pod({}, { command: ['x'] })],
    ['of the node', pod({ nodeName: 'n' })],
    [
      'that adds a container',
      pod({
        containers: [
          { name: 'c', image: 'busybox:1' },
          { name: 'd', image: 'i' },
        ],
      }),
    ],
  ])('%s is refused', (_, after) => {
    const faults = faultsOfUpdate(podKind, pod({}), after);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(
      /^spec: Forbidden: pod updates may not change fields other than `spec\.containers/,
    );
  });
});

describe('columns', () => {
  const now = Date.parse('2026-01-01T01:00:00Z');
  const status = (containers: Partial<V1ContainerStatus>[], more: object = {}): V1Pod => ({
    metadata: { ...metadata, creationTimestamp: '2026-01-01T00:55:00Z' },
    spec: { containers: [{ name: 'c' }] },
    status: { phase: 'Running', containerStatuses: containers.map(statusOf), ...more },
  });
  const statusOf = (part: Partial<V1ContainerStatus>): V1ContainerStatus => ({
    name: 'c',
    image: 'i',
    imageID: 'i',
    ready: false,
    restartCount: 0,
    ...part,
  });
  const waiting = (reason: string) => ({ state: { waiting: { reason } } });
  const ended = (exitCode: number, reason?: string) => ({ state: { terminated: { exitCode, reason } } });
  const running = { ready: true, state: { running: {} } };
  const init = (part: Partial<V1ContainerStatus>, count = 2): Partial<V1Pod> => {
    const base = status([waiting('PodInitializing')], {
      phase: 'Pending',
      initContainerStatuses: [statusOf({ name: 'i0', ...part })],
    });
    const initContainers = Array.from({ length: count }, (_, i) => ({ name: `i${i}` }));
    return { ...base, spec: { containers: [{ name: 'c' }], initContainers } };
  };
  const dying = (phase: string): V1Pod => {
    const base = status([running], { phase });
    return { ...base, metadata: { ...base.metadata, deletionTimestamp: '2026-01-01T00:59:00Z' } };
  };

  test.each<[string, Partial<V1Pod>, string, string]>([
    ['a running pod', status([running]), '1/1', 'Running'],
    ['a new pod', status([], { phase: 'Pending' }), '0/1', 'Pending'],
    [
      'a pod being made',
      status([waiting('ContainerCreating')], { phase: 'Pending' }),
      '0/1',
      'ContainerCreating',
    ],
    ['a crashing pod', status([waiting('CrashLoopBackOff')]), '0/1', 'CrashLoopBackOff'],
    ['a pod without its image', status([waiting('ImagePullBackOff')]), '0/1', 'ImagePullBackOff'],
    ['a pod that is done', status([ended(0, 'Completed')], { phase: 'Succeeded' }), '0/1', 'Completed'],
    ['a pod that failed', status([ended(1, 'Error')], { phase: 'Failed' }), '0/1', 'Error'],
    ['a pod that only has an exit code', status([ended(7)]), '0/1', 'ExitCode:7'],
    ['an evicted pod', status([], { phase: 'Failed', reason: 'Evicted' }), '0/1', 'Evicted'],
    ['a pod waiting for its first init container', init({ state: { running: {} } }), '0/1', 'Init:0/2'],
    ['a pod whose init container crashes', init(waiting('CrashLoopBackOff')), '0/1', 'Init:CrashLoopBackOff'],
    ['a pod whose init container failed', init(ended(1, 'Error')), '0/1', 'Init:Error'],
    ['a pod whose init containers are done', init(ended(0, 'Completed'), 1), '0/1', 'PodInitializing'],
    ['a pod that is being deleted', dying('Running'), '1/1', 'Terminating'],
    ['a finished pod that is being deleted', dying('Succeeded'), '1/1', 'Succeeded'],
  ])('%s', (_, object, ready, word) => {
    expect(cellsOf(podKind, object, now).slice(1, 3)).toEqual([ready, word]);
  });

  test('tell restarts and when the last was', () => {
    const restarted = statusOf({
      ...running,
      restartCount: 3,
      lastState: { terminated: { exitCode: 1, finishedAt: '2026-01-01T00:55:00Z' } },
    });
    const object = status([restarted], { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] });
    expect(cellsOf(podKind, object, now)).toEqual([
      'web',
      '1/1',
      'Running',
      '3 (5m ago)',
      '5m',
      '10.0.0.1',
      '<none>',
      '<none>',
      '<none>',
    ]);
    expect(podKind.columns.map(({ name }) => name.toUpperCase())).toEqual([
      'NAME',
      'READY',
      'STATUS',
      'RESTARTS',
      'AGE',
      'IP',
      'NODE',
      'NOMINATED NODE',
      'READINESS GATES',
    ]);
  });

  test('count sidecars', () => {
    const base = status([running]);
    const object: V1Pod = {
      ...base,
      spec: { containers: [{ name: 'c' }], initContainers: [{ name: 's', restartPolicy: 'Always' }] },
      status: { ...base.status, initContainerStatuses: [statusOf({ ...running, name: 's', started: true })] },
    };
    expect(cellsOf(podKind, object, now).slice(1, 3)).toEqual(['2/2', 'Running']);
  });
});
