// Finds the container or sandbox in the runtime that a request means.
// Guarantees: of several runs of a container the newest is meant, or when asked the last that ended before it.
import type { V1ContainerStatus } from '../../api/gen/types.js';
import type { Container, RuntimeService } from '../../cri/runtime.js';
import { CONTAINER_NAME, POD_UID } from '../names.js';
import type { Pod } from '../ports.js';

/** An answer other than success, with its words. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  constructor(
    readonly status: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface PodLookup {
  list(): readonly Pod[];
  get(namespace: string, name: string): Pod | undefined;
}

export function podOf(
  pods: PodLookup,
  {
    namespace,
    pod: name,
    uid,
  }: { readonly namespace: string; readonly pod: string; readonly uid: string | undefined },
): Pod {
  const pod = pods.get(namespace, name);
  if (pod === undefined || (uid !== undefined && pod.metadata.uid !== uid))
    throw new HttpError(404, 'pod does not exist');
  return pod;
}

export function hasContainer({ spec }: Pod, name: string): boolean {
  const all = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  return all.some((container) => container.name === name);
}

/** Newest first. */
async function runsOf(runtime: RuntimeService, podUid: string, name: string): Promise<readonly Container[]> {
  const labels = { [POD_UID]: podUid, [CONTAINER_NAME]: name };
  const runs = await runtime.listContainers({ labels });
  return runs.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0));
}

export async function runningContainer(runtime: RuntimeService, pod: Pod, name: string): Promise<string> {
  const runs = await runsOf(runtime, pod.metadata.uid, name);
  const running = runs.find(({ state }) => state === 'CONTAINER_RUNNING');
  if (running === undefined) throw new HttpError(500, `container not found ("${name}")`);
  return running.id;
}

export async function readySandbox(runtime: RuntimeService, pod: Pod): Promise<string> {
  const sandboxes = await runtime.listPodSandbox({ labels: { [POD_UID]: pod.metadata.uid } });
  const ready = sandboxes.find(({ state }) => state === 'SANDBOX_READY');
  if (ready === undefined) {
    const { name, namespace, uid } = pod.metadata;
    throw new HttpError(500, `failed to find sandbox for pod "${name}_${namespace ?? ''}(${uid})"`);
  }
  return ready.id;
}

/** The run whose log is meant. Refused in the words of kubectl's users when there is none yet, or none before. */
export async function runForLogs(
  runtime: RuntimeService,
  pod: Pod,
  { name, previous }: { readonly name: string; readonly previous: boolean },
): Promise<Container> {
  const runs = await runsOf(runtime, pod.metadata.uid, name);
  const run = previous ? lastEnded(runs, pod, name) : runs.find(({ state }) => state !== 'CONTAINER_CREATED');
  if (run !== undefined) return run;
  const podName = pod.metadata.name;
  if (previous)
    throw new HttpError(400, `previous terminated container "${name}" in pod "${podName}" not found`);
  const waiting = statusOf(pod, name)?.state?.waiting?.reason ?? 'ContainerCreating';
  throw new HttpError(400, `container "${name}" in pod "${podName}" is waiting to start: ${waiting}`);
}

/** As the status shows it; of one that waits for its next run that is the newest there is. */
function lastEnded(runs: readonly Container[], pod: Pod, name: string): Container | undefined {
  const shown = statusOf(pod, name)?.lastState?.terminated?.containerID?.split('://')[1];
  return (
    runs.find(({ id }) => id === shown) ?? runs.slice(1).find(({ state }) => state === 'CONTAINER_EXITED')
  );
}

function statusOf({ status }: Pod, name: string): V1ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (one) => one.name === name,
  );
}
