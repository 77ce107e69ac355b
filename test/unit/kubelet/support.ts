// Pods and runtime records for the kubelet's tests, made short.
// Guarantees: what a test does not say is what a healthy pod has.
import type { V1Container, V1PodSpec } from '../../../src/api/gen/types.js';
import type { ContainerState, PodSandboxStatus } from '../../../src/cri/runtime.js';
import { containerAnnotations, containerLabels } from '../../../src/kubelet/names.js';
import type { Pod } from '../../../src/kubelet/ports.js';
import type { ContainerRun, RuntimePod } from '../../../src/kubelet/runtime/runtimePod.js';

const SECOND = 1_000_000_000n;

export function container(name: string, more: Partial<V1Container> = {}): V1Container {
  return { name, image: 'busybox:1', ...more };
}

export function podOf(spec: Partial<V1PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'u1',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { containers: [container('web')], restartPolicy: 'Always', ...spec },
    status: {},
  } as Pod;
}

export function sandbox(more: Partial<PodSandboxStatus> = {}): PodSandboxStatus {
  return {
    id: 'sandbox-0',
    metadata: { name: 'web', namespace: 'default', uid: 'u1', attempt: 0 },
    state: 'SANDBOX_READY',
    createdAt: SECOND,
    network: { ip: '10.0.0.7', additionalIps: [] },
    linux: { namespaces: { options: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } } },
    labels: {},
    annotations: {},
    ...more,
  };
}

const STATES = {
  running: 'CONTAINER_RUNNING',
  exited: 'CONTAINER_EXITED',
  created: 'CONTAINER_CREATED',
} as const;

export function run(
  pod: Pod,
  name: string,
  state: keyof typeof STATES | ContainerState,
  more: Partial<ContainerRun> & { attempt?: number } = {},
): ContainerRun {
  const { attempt = 0, ...rest } = more;
  const spec = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((one) => one.name === name);
  if (spec === undefined) throw new Error(`the pod has no container ${name}`);
  const named = STATES[state as keyof typeof STATES] ?? (state as ContainerState);
  return {
    id: `${name}-${attempt}`,
    metadata: { name, attempt },
    state: named,
    createdAt: SECOND,
    startedAt: named === 'CONTAINER_CREATED' ? 0n : 2n * SECOND,
    finishedAt: named === 'CONTAINER_EXITED' ? 3n * SECOND : 0n,
    exitCode: 0,
    image: { image: spec.image ?? '' },
    imageRef: 'sha256:abc',
    reason: '',
    message: '',
    labels: containerLabels(pod, spec),
    annotations: containerAnnotations(pod, spec, attempt),
    mounts: [],
    logPath: '',
    sandboxId: 'sandbox-0',
    ...rest,
  };
}

export function runtimePod(containers: readonly ContainerRun[], sandboxes = [sandbox()]): RuntimePod {
  return { uid: 'u1', name: 'web', namespace: 'default', sandboxes, containers };
}
