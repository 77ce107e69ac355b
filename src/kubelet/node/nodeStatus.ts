// The Node as this kubelet shows it: labels, addresses, capacity, versions, conditions. Pure.
// Guarantees: the same facts give the same node; a condition's transition time moves only with its status.
import { KUBERNETES_VERSION } from '../../api/build.js';
import type { V1ContainerImage, V1Node, V1NodeCondition, V1NodeStatus } from '../../api/gen/types.js';
import { canonicalQuantity, integerValue, milliValue } from '../../api/quantity.js';
import type { Image, RuntimeCondition, RuntimeStatus } from '../../cri/runtime.js';
import type { KubeletConfig } from '../config.js';
import type { PressureCondition } from '../eviction/signals.js';
import { amountOf } from '../eviction/thresholds.js';
import { apiTime } from '../status/time.js';
import type { MachineFacts } from './machine.js';

export const KUBELET_VERSION = `${KUBERNETES_VERSION}+trellis`;
const MAX_IMAGES = 50;
/** What this kubelet does beyond what every supported version of Kubernetes does, by Kubernetes' names and in order. */
const DECLARED_FEATURES = [
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
];

export interface RuntimeFacts extends Pick<RuntimeStatus, 'handlers' | 'features'> {
  readonly version: { readonly runtimeName: string; readonly runtimeVersion: string } | undefined;
  /** Empty when the runtime does not answer; `problem` then says why. */
  readonly conditions: readonly RuntimeCondition[];
  readonly problem: string | undefined;
  readonly images: readonly Image[];
  /** Undefined where the runtime does not say. */
  readonly cgroupDriver: 'SYSTEMD' | 'CGROUPFS' | undefined;
}

export interface NodeFactsFull {
  readonly config: KubeletConfig;
  readonly machine: MachineFacts;
  /** What the eviction manager says. */
  readonly hasPressure: (condition: PressureCondition) => boolean;
  readonly runtime: RuntimeFacts;
  readonly plegProblem: string | undefined;
  /** That the machine goes down. */
  readonly shutdownProblem: string | undefined;
  readonly addresses: readonly string[];
  readonly previous: readonly V1NodeCondition[];
  readonly now: number;
}

export function nodeLabels({ nodeName, nodeLabels: own }: KubeletConfig, machine: MachineFacts) {
  return {
    'beta.kubernetes.io/arch': machine.architecture,
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': machine.architecture,
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    ...own,
  };
}

export function nodeOf(facts: NodeFactsFull): V1Node {
  const { config, machine } = facts;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: config.nodeName,
      labels: nodeLabels(config, machine),
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
    },
    spec: {
      ...(config.registerWithTaints.length === 0 ? {} : { taints: config.registerWithTaints }),
      ...(config.podCidr === '' ? {} : { podCIDR: config.podCidr, podCIDRs: [config.podCidr] }),
      ...(config.providerId === '' ? {} : { providerID: config.providerId }),
    },
    status: nodeStatus(facts),
  };
}

export function nodeStatus(facts: NodeFactsFull): V1NodeStatus {
  const { config, machine, runtime, addresses } = facts;
  const { runtimeName, runtimeVersion } = runtime.version ?? {
    runtimeName: 'containerd',
    runtimeVersion: 'Unknown',
  };
  return {
    addresses: [
      ...addresses.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: config.nodeName },
    ],
    capacity: capacityOf(config, machine),
    allocatable: allocatableOf(config, machine),
    conditions: nodeConditions(facts),
    daemonEndpoints: { kubeletEndpoint: { Port: config.port } },
    images: imagesOf(runtime.images),
    ...(runtime.handlers.length === 0 ? {} : { runtimeHandlers: runtime.handlers }),
    declaredFeatures: DECLARED_FEATURES,
    ...(runtime.features === undefined ? {} : { features: runtime.features }),
    nodeInfo: {
      machineID: machine.machineID,
      systemUUID: machine.systemUUID,
      bootID: machine.bootID,
      kernelVersion: machine.kernelVersion,
      osImage: machine.osImage,
      containerRuntimeVersion: `${runtimeName}://${runtimeVersion.replace(/^v/, '')}`,
      kubeletVersion: KUBELET_VERSION,
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: machine.architecture,
    },
  };
}

/** What others have written of resources that the kubelet does not know, such as `example.com/license`, stays. */
export function withExtended(wanted: V1NodeStatus, current: V1NodeStatus): V1NodeStatus {
  const others = Object.entries(current.capacity ?? {}).filter(
    ([name]) => !(name in (wanted.capacity ?? {})),
  );
  if (others.length === 0) return wanted;
  const extended = Object.fromEntries(others);
  return {
    ...wanted,
    capacity: { ...wanted.capacity, ...extended },
    allocatable: { ...wanted.allocatable, ...extended },
  };
}

function capacityOf(config: KubeletConfig, machine: MachineFacts): Record<string, string> {
  return {
    cpu: String(machine.cpus),
    'ephemeral-storage': `${Math.floor(machine.ephemeralBytes / 1024)}Ki`,
    ...hugePages(machine),
    memory: `${Math.floor(machine.memoryBytes / 1024)}Ki`,
    pods: String(config.maxPods),
  };
}

/** Capacity without reservations and without what eviction keeps free. */
export function allocatableOf(config: KubeletConfig, machine: MachineFacts): Record<string, string> {
  const reserved = (name: string, read: (quantity: string) => number) =>
    [config.kubeReserved[name], config.systemReserved[name]].reduce(
      (sum, one) => sum + (one === undefined ? 0 : read(one)),
      0,
    );
  const cpu = machine.cpus * 1000 - reserved('cpu', milliValue);
  const keptFree = (signal: string, capacity: number) =>
    amountOf(config.evictionHard[signal] ?? '0', { available: 0, capacity });
  const memory =
    machine.memoryBytes -
    reserved('memory', integerValue) -
    machine.hugePages.reduce((sum, { pageBytes, count }) => sum + pageBytes * count, 0) -
    keptFree('memory.available', machine.memoryBytes);
  const disk =
    Math.floor(machine.ephemeralBytes - keptFree('nodefs.available', machine.ephemeralBytes)) -
    reserved('ephemeral-storage', integerValue);
  return {
    cpu: cpu % 1000 === 0 ? String(Math.max(0, cpu / 1000)) : `${Math.max(0, cpu)}m`,
    'ephemeral-storage': String(Math.max(0, disk)),
    ...hugePages(machine),
    memory: `${Math.max(0, Math.floor(memory / 1024))}Ki`,
    pods: String(config.maxPods),
  };
}

function hugePages({ hugePages: kinds }: MachineFacts): Record<string, string> {
  const amount = (bytes: number) => canonicalQuantity(`${bytes / 1024}Ki`);
  return Object.fromEntries(
    kinds.map(({ pageBytes, count }) => [`hugepages-${amount(pageBytes)}`, amount(pageBytes * count)]),
  );
}

/** The largest first, as the scheduler's image locality wants them. */
function imagesOf(images: readonly Image[]): V1ContainerImage[] {
  return [...images]
    .sort((a, b) => b.size - a.size)
    .slice(0, MAX_IMAGES)
    .map(({ repoDigests, repoTags, size }) => ({
      names: [...repoDigests, ...repoTags].slice(0, 5),
      sizeBytes: size,
    }))
    .filter(({ names }) => names.length > 0);
}

type Verdict = Pick<V1NodeCondition, 'type' | 'status' | 'reason' | 'message'>;

function nodeConditions(facts: NodeFactsFull): V1NodeCondition[] {
  const { hasPressure, previous, now } = facts;
  const verdicts: Verdict[] = [
    pressed('MemoryPressure', hasPressure('MemoryPressure'), {
      yes: ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
      no: ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
    }),
    pressed('DiskPressure', hasPressure('DiskPressure'), {
      yes: ['KubeletHasDiskPressure', 'kubelet has disk pressure'],
      no: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
    }),
    pressed('PIDPressure', hasPressure('PIDPressure'), {
      yes: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
      no: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
    }),
    ready(facts),
  ];
  return verdicts.map((verdict) => {
    const before = previous.find(({ type }) => type === verdict.type);
    const same = before?.status === verdict.status && before.lastTransitionTime !== undefined;
    return {
      ...verdict,
      lastHeartbeatTime: apiTime(now),
      lastTransitionTime: same ? before.lastTransitionTime : apiTime(now),
    };
  });
}

function pressed(
  type: string,
  isPressed: boolean,
  words: { readonly yes: readonly [string, string]; readonly no: readonly [string, string] },
): Verdict {
  const [reason, message] = isPressed ? words.yes : words.no;
  return { type, status: isPressed ? 'True' : 'False', reason, message };
}

function ready({ runtime, plegProblem, shutdownProblem }: NodeFactsFull): Verdict {
  const problems = [
    runtimeProblem(runtime),
    networkProblem(runtime),
    plegProblem && `PLEG is not healthy: ${plegProblem}`,
    shutdownProblem,
  ].filter((problem) => problem !== undefined && problem !== '');
  return problems.length === 0
    ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
    : {
        type: 'Ready',
        status: 'False',
        reason: 'KubeletNotReady',
        message: `[${problems.join(', ')}]`.replace(/^\[([^,]*)\]$/, '$1'),
      };
}

export function runtimeProblem({ problem, conditions, cgroupDriver }: RuntimeFacts): string | undefined {
  if (problem !== undefined) return `container runtime is down: ${problem}`;
  // It would refuse every pod, in words about paths that help nobody.
  if (cgroupDriver === 'SYSTEMD')
    return 'container runtime not ready: it leaves control groups to systemd, and this kubelet makes them itself; set its driver to cgroupfs (for containerd: SystemdCgroup = false)';
  const condition = conditions.find(({ type }) => type === 'RuntimeReady');
  if (condition?.status === true) return undefined;
  return `container runtime not ready: ${described('RuntimeReady', condition)}`;
}

/** As the runtime says it; pods with their own network wait for this. */
export function networkProblem({ problem, conditions }: RuntimeFacts): string | undefined {
  const condition = conditions.find(({ type }) => type === 'NetworkReady');
  if (problem !== undefined || condition?.status === true) return undefined;
  return `container runtime network not ready: ${described('NetworkReady', condition)}`;
}

function described(type: string, condition: RuntimeCondition | undefined): string {
  if (condition === undefined) return `${type} condition is not set`;
  return `${type}=${condition.status} reason:${condition.reason} message:${condition.message}`;
}
