// The cases of Kubernetes' own scheduler benchmark for 5,000 nodes: which pods, how many before and how many measured.
// Guarantees: thresholds are those of Kubernetes v1.36.0, test/integration/scheduler_perf, performance-config.yaml of misc,
// affinity and topology_spreading; where a case differs from theirs it says so.
import type { V1Affinity, V1Pod, V1PodSpec } from '../../src/api/gen/types.js';

export interface Case {
  readonly name: string;
  /** Pods that are there before, and whether they are to be waited for. */
  readonly before: number;
  readonly measured: number;
  /** Pods a second below which Kubernetes' own job fails, on its machines; absent where it has no such case. */
  readonly threshold?: number;
  /** Pods a second that we want. */
  readonly goal: number;
  readonly namespaces?: number;
  make(name: string, number: number, phase: 'before' | 'measured'): V1Pod;
  /** Pods that can go nowhere are not waited for. */
  readonly beforeStaysPending?: boolean;
}

const HOSTNAME = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

interface Shape {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly cpu?: string;
  readonly spec?: Partial<V1PodSpec>;
}

function pod(
  name: string,
  { namespace = 'bench-0', labels = {}, cpu = '100m', spec = {} }: Shape = {},
): V1Pod {
  const resources = { requests: { cpu, memory: '500Mi' } };
  const containers = [{ name: 'pause', image: 'registry.k8s.io/pause:3.10', resources }];
  return { metadata: { name, namespace, labels }, spec: { containers, ...spec } };
}

const term = (color: string, topologyKey: string, extra = {}) => ({
  labelSelector: { matchLabels: { color } },
  topologyKey,
  ...extra,
});

const colored = (color: string, affinity: V1Affinity, namespace?: string): Shape => ({
  labels: { color },
  spec: { affinity },
  ...(namespace === undefined ? {} : { namespace }),
});

/** In the namespace, on nodes without another such pod of the named ones. */
const apart = (namespace: string, namespaces: object): Shape => {
  const required = [term('green', HOSTNAME, namespaces)];
  return colored(
    'green',
    { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
    namespace,
  );
};

export const CASES: readonly Case[] = [
  { name: 'basic', before: 1_000, measured: 10_000, threshold: 270, goal: 1_000, make: (name) => pod(name) },
  {
    name: 'node affinity',
    before: 5_000,
    measured: 10_000,
    threshold: 220,
    goal: 500,
    make: (name) =>
      pod(name, {
        spec: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  { matchExpressions: [{ key: ZONE, operator: 'In', values: ['zone1', 'zone2'] }] },
                ],
              },
            },
          },
        },
      }),
  },
  {
    name: 'pod anti-affinity',
    before: 1_000,
    measured: 2_000,
    threshold: 60,
    goal: 500,
    namespaces: 2,
    make: (name, number) => pod(name, apart(`bench-${number % 2}`, { namespaces: ['bench-0', 'bench-1'] })),
  },
  {
    name: 'pod affinity',
    before: 5_000,
    measured: 5_000,
    threshold: 35,
    goal: 500,
    make: (name) =>
      pod(
        name,
        colored('blue', {
          podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term('blue', ZONE)] },
        }),
      ),
  },
  {
    name: 'preferred pod affinity',
    before: 5_000,
    measured: 5_000,
    threshold: 90,
    goal: 500,
    make: (name) =>
      pod(
        name,
        colored('red', {
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, podAffinityTerm: term('red', HOSTNAME) },
            ],
          },
        }),
      ),
  },
  {
    // Half the pods of Kubernetes' case, and 5,000 nodes where that has 6,000.
    name: 'anti-affinity by namespace selector',
    before: 2_000,
    measured: 1_000,
    threshold: 24,
    goal: 500,
    namespaces: 100,
    make: (name, number) =>
      pod(name, apart(`bench-${number % 100}`, { namespaceSelector: { matchLabels: { team: 'devops' } } })),
  },
  {
    name: 'topology spread',
    before: 5_000,
    measured: 5_000,
    threshold: 85,
    goal: 500,
    make: (name) =>
      pod(name, {
        labels: { color: 'blue' },
        spec: {
          topologySpreadConstraints: [
            {
              maxSkew: 5,
              topologyKey: ZONE,
              whenUnsatisfiable: 'DoNotSchedule',
              labelSelector: { matchLabels: { color: 'blue' } },
            },
          ],
        },
      }),
  },
  {
    // Kubernetes has a threshold for pods beside which five a second preempt; here every measured pod does.
    name: 'preemption',
    before: 20_000,
    measured: 5_000,
    goal: 500,
    make: (name, _, phase) =>
      pod(name, {
        cpu: phase === 'before' ? '900m' : '3000m',
        spec: {
          terminationGracePeriodSeconds: 0,
          ...(phase === 'before' ? {} : { priorityClassName: 'system-cluster-critical' }),
        },
      }),
  },
  {
    // Kubernetes' case adds five such pods a second; here they are there from the beginning.
    name: 'unschedulable pods around',
    before: 200,
    measured: 10_000,
    threshold: 140,
    goal: 500,
    beforeStaysPending: true,
    make: (name, _, phase) => pod(name, { cpu: phase === 'before' ? '9' : '100m' }),
  },
];
