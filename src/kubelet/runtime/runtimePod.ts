// A pod as the runtime has it: its sandboxes and containers, newest first. Pure.
// Guarantees: nothing here asks the runtime; who fetched it and when is the cache's business.
import type { ContainerStatus, PodSandboxStatus } from '../../cri/runtime.js';

/** One run of a container, with the sandbox that it was made in. */
export interface ContainerRun extends ContainerStatus {
  readonly sandboxId: string;
}

export interface RuntimePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first. */
  readonly sandboxes: readonly PodSandboxStatus[];
  /** Every run of every container, newest first. */
  readonly containers: readonly ContainerRun[];
}

export function emptyRuntimePod(uid: string): RuntimePod {
  return { uid, name: '', namespace: '', sandboxes: [], containers: [] };
}

/** The latest run of a container, in whichever sandbox. */
export function latest(pod: RuntimePod, container: string): ContainerRun | undefined {
  return pod.containers.find(({ metadata }) => metadata.name === container);
}

/** The latest run in the newest sandbox: what ran in a former one has prepared nothing in this. */
export function latestHere(pod: RuntimePod, container: string): ContainerRun | undefined {
  const run = latest(pod, container);
  return run !== undefined && run.sandboxId === pod.sandboxes[0]?.id ? run : undefined;
}

type RunningContainer = ContainerStatus & { readonly state: 'CONTAINER_RUNNING' };

export function isRunning(status: ContainerStatus | undefined): status is RunningContainer {
  return status?.state === 'CONTAINER_RUNNING';
}

export function runningContainers(pod: RuntimePod): readonly ContainerStatus[] {
  return pod.containers.filter(isRunning);
}

/** Containers that may have a process: running, or in a state that the runtime cannot tell. */
export function livingContainers(pod: RuntimePod): readonly ContainerStatus[] {
  return pod.containers.filter(({ state }) => state === 'CONTAINER_RUNNING' || state === 'CONTAINER_UNKNOWN');
}

export function readySandbox(pod: RuntimePod): PodSandboxStatus | undefined {
  const [newest] = pod.sandboxes;
  return newest?.state === 'SANDBOX_READY' ? newest : undefined;
}

/** Whether the pod has this container or sandbox and shows it as alive. */
export function livesIn(pod: RuntimePod, id: string): boolean {
  return (
    livingContainers(pod).some((one) => one.id === id) ||
    pod.sandboxes.some((one) => one.id === id && one.state === 'SANDBOX_READY')
  );
}

const SHOWN_AS: Readonly<Record<string, readonly string[]>> = {
  ContainerStarted: ['CONTAINER_RUNNING', 'SANDBOX_READY'],
  ContainerDied: ['CONTAINER_EXITED', 'SANDBOX_NOTREADY'],
  ContainerChanged: ['CONTAINER_CREATED'],
};

/** Whether the pod already shows what this event of the PLEG tells: states only go forward, so nothing else is new. */
export function shows(
  pod: RuntimePod,
  { type, id }: { readonly type: string; readonly id: string },
): boolean {
  const found = [...pod.sandboxes, ...pod.containers].find((one) => one.id === id);
  if (found === undefined) return type === 'ContainerRemoved';
  return SHOWN_AS[type]?.includes(found.state) ?? false;
}

/** Addresses of the pod's own network; none for a pod in the node's. */
export function sandboxIps(sandbox: PodSandboxStatus | undefined): readonly string[] {
  const network = sandbox?.network;
  if (network === undefined || network.ip === '') return [];
  return [network.ip, ...network.additionalIps.map(({ ip }) => ip)];
}

export const nanosToMs = (nanos: bigint) => Number(nanos / 1_000_000n);
