// Container statuses as the API shows them, from the runtime's runs and the reasons of failed starts. Pure.
// Guarantees: one status for each container of the spec, in its order; a restart shows the run before as lastState.
import type {
  V1Container,
  V1ContainerState,
  V1ContainerStatus,
  V1PodStatus,
  V1VolumeMount,
  V1VolumeMountStatus,
} from '../../api/gen/types.js';
import type { ContainerStatus, Mount } from '../../cri/runtime.js';
import { allContainers, ephemeralContainers, restartCountOf } from '../names.js';
import { shouldRestart } from '../podActions.js';
import type { Pod } from '../ports.js';
import { nanosToMs, type RuntimePod } from '../runtime/runtimePod.js';
import { apiTime } from './time.js';

export interface StartFailure {
  readonly reason: string;
  readonly message: string;
}

export interface ContainerFacts {
  readonly pod: Pod;
  readonly runtime: RuntimePod;
  /** Why a container could not be started, by its name. */
  readonly failures: ReadonlyMap<string, StartFailure>;
  readonly isReady: (containerId: string) => boolean;
  readonly isStarted: (containerId: string) => boolean;
}

const RUNTIME = 'containerd';
/** Of the last words of all containers of a pod. */
const MAX_POD_MESSAGE_BYTES = 12 * 1024;

export function containerStatuses(
  facts: ContainerFacts,
  containers: readonly V1Container[],
  previous: readonly V1ContainerStatus[] | undefined,
): V1ContainerStatus[] {
  return containers.map((container) => {
    const runs = facts.runtime.containers.filter(({ metadata }) => metadata.name === container.name);
    const before = previous?.find(({ name }) => name === container.name);
    const status =
      runs.length === 0 ? withoutRun(facts, container, before) : fromRuns(container, runs, before);
    const told = withReadiness(
      facts,
      container,
      withShortWords(facts.pod, withFailure(facts, container, status, runs[0])),
    );
    return isEphemeral(facts.pod, container) ? told : withResources(container, told, before, runs[0]);
  });
}

/** Each container has an equal part of what a pod may say. */
function withShortWords(pod: Pod, status: V1ContainerStatus): V1ContainerStatus {
  const limit = Math.floor(MAX_POD_MESSAGE_BYTES / allContainers(pod).length);
  return {
    ...status,
    ...(status.state === undefined ? {} : { state: shortened(status.state, limit) }),
    ...(status.lastState === undefined ? {} : { lastState: shortened(status.lastState, limit) }),
  };
}

function shortened(state: V1ContainerState, limit: number): V1ContainerState {
  const { message } = state.terminated ?? {};
  if (state.terminated === undefined || message === undefined || Buffer.byteLength(message) <= limit)
    return state;
  // What a cut left of a character is no character.
  const words = Buffer.from(message)
    .subarray(0, limit)
    .toString()
    .replace(/\ufffd+$/, '');
  return { ...state, terminated: { ...state.terminated, message: words } };
}

/** A run is given what its container was granted when it was made; a resize since then is in the status before. */
function withResources(
  { resources = {}, volumeMounts = [] }: V1Container,
  status: V1ContainerStatus,
  before: V1ContainerStatus | undefined,
  run: ContainerStatus | undefined,
): V1ContainerStatus {
  const isSameRun = before?.containerID !== undefined && before.containerID === status.containerID;
  const { requests } = resources;
  return {
    ...status,
    resources: isSameRun && before.resources !== undefined ? before.resources : resources,
    ...(requests === undefined ? {} : { allocatedResources: requests }),
    ...(volumeMounts.length === 0
      ? {}
      : { volumeMounts: volumeMounts.map((mount) => mountStatus(mount, run?.mounts ?? [])) }),
    ...(run?.user === undefined ? {} : { user: { linux: run.user } }),
    ...stopSignalOf(run),
  };
}

/** As the runtime says it; one that does not know of such signals says nothing. */
function stopSignalOf(run: ContainerStatus | undefined): Pick<V1ContainerStatus, 'stopSignal'> {
  const signal = run?.stopSignal ?? 'RUNTIME_DEFAULT';
  return signal === 'RUNTIME_DEFAULT'
    ? {}
    : { stopSignal: signal.replace('PLUS', '+').replace('MINUS', '-') };
}

function mountStatus(
  { name, mountPath, readOnly = false }: V1VolumeMount,
  mounts: readonly Mount[],
): V1VolumeMountStatus {
  const made = mounts.find(({ containerPath }) => containerPath === mountPath);
  const recursiveReadOnly = made?.recursiveReadOnly === true ? 'Enabled' : 'Disabled';
  return { name, mountPath, ...(readOnly ? { readOnly, recursiveReadOnly } : {}) };
}

const isEphemeral = (pod: Pod, container: V1Container) =>
  ephemeralContainers(pod).some((one) => one === container);

function fromRuns(
  container: V1Container,
  [run, ...older]: readonly ContainerStatus[],
  before: V1ContainerStatus | undefined,
): V1ContainerStatus {
  if (run === undefined) throw new TypeError('a status is made from at least one run');
  const last = older.find(({ state }) => state === 'CONTAINER_EXITED');
  return {
    name: container.name,
    state: stateOf(run),
    // The runtime may have no trace of the run before; how it ended is then what was told of it.
    lastState: last !== undefined ? stateOf(last) : restartCountOf(run) > 0 ? (before?.lastState ?? {}) : {},
    ready: false,
    started: false,
    restartCount: restartCountOf(run),
    // The runtime names an image without a tag by its id, which tells a reader nothing.
    image:
      run.image.image === '' || run.image.image.startsWith('sha256:')
        ? (container.image ?? '')
        : run.image.image,
    imageID: run.imageRef,
    containerID: `${RUNTIME}://${run.id}`,
  };
}

/** Of the end of a run whose whole pod begins anew: what it says of the pod is over. */
export const RESTARTING_ALL = 'RestartingAllContainers';

/** A pod whose containers begin anew, none of them with a trace in the runtime. One that waits has no run to count. */
export function withNextRun(status: V1PodStatus): V1PodStatus {
  const next = (list: readonly V1ContainerStatus[] = []) =>
    list.map((one) => {
      const ended = one.state?.terminated;
      if (ended === undefined) return one;
      return {
        ...one,
        state: { waiting: { reason: RESTARTING_ALL } },
        lastState: { terminated: { ...ended, reason: RESTARTING_ALL } },
        ready: false,
        started: false,
        restartCount: one.restartCount + 1,
      };
    });
  const { initContainerStatuses: inits, containerStatuses } = status;
  return {
    ...status,
    ...(inits === undefined ? {} : { initContainerStatuses: next(inits) }),
    containerStatuses: next(containerStatuses),
  };
}

/** The runtime has no trace: never started, or removed behind the kubelet's back. */
function withoutRun(
  { pod }: ContainerFacts,
  container: V1Container,
  before: V1ContainerStatus | undefined,
): V1ContainerStatus {
  if (before?.state?.terminated !== undefined) return before;
  const waiting = { reason: waitingReason(pod), message: undefined };
  const blank: V1ContainerStatus = {
    name: container.name,
    state: { waiting: { reason: waiting.reason } },
    lastState: before?.lastState ?? {},
    ready: false,
    started: false,
    restartCount: before?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: before?.imageID ?? '',
  };
  if (before?.state?.running === undefined) return blank;
  const terminated = {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was deleted.  The container used to be Running',
    ...(before.containerID === undefined ? {} : { containerID: before.containerID }),
  };
  return shouldRestart(pod, container, undefined) && (pod.spec.restartPolicy ?? 'Always') !== 'Never'
    ? { ...blank, lastState: { terminated }, restartCount: before.restartCount + 1 }
    : { ...blank, state: { terminated } };
}

function waitingReason({ spec }: Pod): string {
  return (spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating';
}

function stateOf(run: ContainerStatus): V1ContainerState {
  if (run.state === 'CONTAINER_RUNNING') return { running: { startedAt: apiTime(nanosToMs(run.startedAt)) } };
  if (run.state === 'CONTAINER_CREATED') return { waiting: { reason: 'ContainerCreating' } };
  const unknown = run.state === 'CONTAINER_UNKNOWN';
  return {
    terminated: {
      exitCode: unknown ? 137 : run.exitCode,
      reason: unknown ? 'ContainerStatusUnknown' : run.reason || (run.exitCode === 0 ? 'Completed' : 'Error'),
      ...(run.message === '' ? {} : { message: run.message }),
      ...(run.startedAt > 0n ? { startedAt: apiTime(nanosToMs(run.startedAt)) } : {}),
      ...(run.finishedAt > 0n ? { finishedAt: apiTime(nanosToMs(run.finishedAt)) } : {}),
      containerID: `${RUNTIME}://${run.id}`,
    },
  };
}

function withFailure(
  { pod, failures }: ContainerFacts,
  container: V1Container,
  status: V1ContainerStatus,
  run: ContainerStatus | undefined,
): V1ContainerStatus {
  const failure = failures.get(container.name);
  if (failure === undefined || status.state?.running !== undefined) return status;
  if (!shouldRestart(pod, container, run)) return status;
  const waiting = { reason: failure.reason, ...(failure.message === '' ? {} : { message: failure.message }) };
  const ended = status.state?.terminated;
  return {
    ...status,
    state: { waiting },
    ...(ended === undefined ? {} : { lastState: { terminated: ended } }),
  };
}

function withReadiness(
  facts: ContainerFacts,
  container: V1Container,
  status: V1ContainerStatus,
): V1ContainerStatus {
  // One for debugging is never waited for, so it is never ready.
  if (isEphemeral(facts.pod, container)) return { ...status, ready: false, started: false };
  const init = facts.pod.spec.initContainers?.includes(container) === true;
  if (init && container.restartPolicy !== 'Always')
    return { ...status, ready: status.state?.terminated?.exitCode === 0, started: false };
  if (status.state?.running === undefined) return status;
  const id = status.containerID?.slice(`${RUNTIME}://`.length) ?? '';
  const started = facts.isStarted(id);
  return { ...status, started, ready: started && facts.isReady(id) };
}
