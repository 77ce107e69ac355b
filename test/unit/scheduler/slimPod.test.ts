// What a scheduler of its own informers holds of a pod: less, and every choice the same.
import { describe, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { freesItsNode } from '../../../src/scheduler/events.js';
import { claimNames } from '../../../src/scheduler/plugins/claims.js';
import { hasEnded, podInfoOf } from '../../../src/scheduler/podInfo.js';
import { slimPod } from '../../../src/scheduler/slimPod.js';

const mounts = { env: [{ name: 'A', value: 'B' }], volumeMounts: [{ name: 'token', mountPath: '/t' }] };
const requests = (cpu: string) => ({ resources: { requests: { cpu, 'example.com/gpu': '1' } } });
const selector = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'zone' };

const bound = (status: V1Pod['status'] = {}): Stored<V1Pod> => ({
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u',
    resourceVersion: '7',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: 'web' },
    annotations: { note: 'long' },
    deletionTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: {
    nodeName: 'node-1',
    priority: 5,
    overhead: { cpu: '10m' },
    schedulerName: 'default-scheduler',
    tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists' }],
    containers: [
      { name: 'main', image: 'i', ports: [{ containerPort: 80, hostPort: 80 }], ...mounts, ...requests('1') },
    ],
    initContainers: [
      { name: 'first', image: 'i', ...mounts, ...requests('3') },
      {
        name: 'sidecar',
        image: 'i',
        restartPolicy: 'Always',
        ports: [{ containerPort: 9, hostPort: 9 }],
        ...requests('1'),
      },
    ],
    volumes: [
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      { name: 'disk', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } },
    ],
    affinity: {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [selector] },
      podAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: selector }],
      },
    },
    topologySpreadConstraints: [{ ...selector, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }],
  },
  status,
});

const told = (pod: Stored<V1Pod>) => {
  const { pod: _, spec: __, ...info } = podInfoOf(pod);
  return info;
};
const container = (cpu: string) => ({
  name: 'main',
  image: 'i',
  imageID: 'i',
  ready: true,
  restartCount: 0,
  resources: { requests: { cpu } },
  allocatedResources: { cpu },
});

describe('a pod as a scheduler holds it', () => {
  test('is whole while it waits: it is the one that is chosen for, and shown to extenders', () => {
    const { nodeName: _, ...spec } = bound().spec;
    const waiting = { ...bound(), spec };
    expect(slimPod(waiting)).toBe(waiting);
  });

  test('counts as before once it is bound', () => {
    expect(told(slimPod(bound()))).toEqual(told(bound()));
    expect(claimNames(podInfoOf(slimPod(bound())))).toEqual(claimNames(podInfoOf(bound())));
    expect(claimNames(podInfoOf(bound()))).toHaveLength(2);
  });

  test('holds what it has while it is being resized', () => {
    const shrinking = bound({ phase: 'Running', containerStatuses: [container('4')] });
    expect(told(slimPod(shrinking))).toEqual(told(shrinking));
    expect(told(slimPod(shrinking))).not.toEqual(told(bound()));
    const refused = bound({
      containerStatuses: [container('500m')],
      conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
    });
    expect(told(slimPod(refused))).toEqual(told(refused));
    expect(freesItsNode(slimPod(bound()), slimPod(shrinking))).toBe(true);
  });

  test('tells its end and its start', () => {
    const ended = slimPod(bound({ phase: 'Succeeded', startTime: '2026-01-01T00:00:00Z' }));
    expect(hasEnded(ended)).toBe(true);
    expect(ended.status?.startTime).toBe('2026-01-01T00:00:00Z');
  });

  test('has none of what only its node needs', () => {
    const text = JSON.stringify(slimPod(bound({ conditions: [{ type: 'Ready', status: 'True' }] })));
    for (const gone of ['annotations', 'tolerations', 'env', 'volumeMounts', 'projected', 'Ready'])
      expect(text).not.toContain(`"${gone}"`);
  });
});
