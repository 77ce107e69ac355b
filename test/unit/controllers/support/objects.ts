// Objects as the server would answer them, for the tests of plans.
// Guarantees: everything that the server fills in is there; what a test says wins.
import type { V1Deployment, V1Node, V1Pod, V1ReplicaSet, V1Service } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';

/** A moment that tests count from. */
export const NOW = Date.parse('2026-01-01T00:00:00Z');
export const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString().replace('.000', '');

const meta = (name: string, more: object = {}) => ({
  name,
  namespace: 'default',
  uid: `uid-${name}`,
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: ago(3600),
  ...more,
});

export interface PodWish {
  readonly ready?: boolean;
  readonly readyFor?: number;
  readonly phase?: string;
  readonly node?: string;
  readonly ip?: string;
  readonly meta?: object;
  readonly spec?: object;
}

export function pod(name: string, wish: PodWish = {}): Stored<V1Pod> {
  const { ready = false, readyFor = 60, phase = 'Running', node, ip } = wish;
  return {
    metadata: meta(name, { labels: { app: 'web' }, ...wish.meta }),
    spec: {
      containers: [{ name: 'main', image: 'i' }],
      ...(node === undefined ? {} : { nodeName: node }),
      ...wish.spec,
    },
    status: {
      phase,
      ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] }),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: ago(readyFor) }],
    },
  };
}

export function replicaSet(
  name: string,
  replicas: number,
  more: { meta?: object; spec?: object; status?: object } = {},
) {
  const set: Stored<V1ReplicaSet> = {
    metadata: meta(name, more.meta),
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'main', image: 'i' }] },
      },
      ...more.spec,
    },
    status: {
      replicas,
      availableReplicas: replicas,
      readyReplicas: replicas,
      observedGeneration: 1,
      ...more.status,
    },
  };
  return set;
}

export function deployment(replicas: number, more: { meta?: object; spec?: object; status?: object } = {}) {
  const wished: Stored<V1Deployment> = {
    metadata: meta('web', more.meta),
    spec: {
      replicas,
      progressDeadlineSeconds: 600,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'main', image: 'i' }] },
      },
      ...more.spec,
    },
    status: { ...more.status },
  };
  return wished;
}

export function service(spec: object = {}, more: object = {}): Stored<V1Service> {
  return {
    metadata: meta('web', more),
    spec: {
      selector: { app: 'web' },
      clusterIP: '10.96.0.10',
      ipFamilies: ['IPv4'],
      ports: [{ port: 80, targetPort: 8080, protocol: 'TCP' }],
      ...spec,
    },
    status: {},
  };
}

export function node(
  name: string,
  ready: string | undefined,
  more: { meta?: object; spec?: object } = {},
): Stored<V1Node> {
  const condition = { type: 'Ready', lastHeartbeatTime: ago(0), lastTransitionTime: ago(600) };
  return {
    metadata: { ...meta(name), ...more.meta },
    spec: { ...more.spec },
    status: { conditions: ready === undefined ? [] : [{ ...condition, status: ready }] },
  };
}
