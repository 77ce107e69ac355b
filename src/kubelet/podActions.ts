// What a pod needs next, given what the runtime has of it: the kubelet's central decision. Pure.
// Guarantees: a running container whose hash matches and whose probes hold is never touched, sandbox permitting; in each
// sandbox the init containers run in order before the main ones.
import type { V1Container, V1ResourceRequirements } from '../api/gen/types.js';
import type { ContainerStatus } from '../cri/runtime.js';
import {
  containerHash,
  ephemeralContainers,
  hashOf,
  isRestartable,
  restartsAfter,
  ruleAfter,
} from './names.js';
import type { Pod, ProbeKind } from './ports.js';
import { changedAmounts, needsRestart, withPodLimits } from './resize/amounts.js';
import { isRunning, latest, latestHere, type RuntimePod } from './runtime/runtimePod.js';

interface ContainerKill {
  readonly container: V1Container;
  readonly id: string;
  /** For the event: why. */
  readonly message: string;
  /** Set when a probe asked for it, with its own grace period if the probe has one. */
  readonly probe?: ProbeKind;
  /** Without its hook and without time to end by itself. */
  readonly atOnce?: boolean;
}

export interface ContainerResize {
  readonly container: V1Container;
  readonly id: string;
}

export interface PodActions {
  /** Stop everything of the pod, its sandbox too; a new sandbox may follow. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** Of the sandbox to create. */
  readonly attempt: number;
  readonly sandboxId: string | undefined;
  readonly initContainersToStart: readonly V1Container[];
  readonly containersToStart: readonly V1Container[];
  readonly ephemeralContainersToStart: readonly V1Container[];
  readonly containersToKill: readonly ContainerKill[];
  /** All runs of all containers, none of them alive: the pod begins again in its sandbox as if they had never been. */
  readonly runsToForget: readonly ContainerStatus[];
  /** Go on running, with other resources. */
  readonly containersToResize: readonly ContainerResize[];
}

export type ProbeFailure = { readonly kind: ProbeKind; readonly message: string } | undefined;

export interface PodFacts {
  readonly pod: Pod;
  readonly status: RuntimePod;
  /** What liveness and startup probes say of a running container. */
  readonly probeFailure: (container: V1Container, status: ContainerStatus) => ProbeFailure;
  /** Without a startup probe a running container has started. */
  readonly isStarted: (container: V1Container, status: ContainerStatus) => boolean;
  /** The resources that a running container was last given. */
  readonly given: (container: V1Container, status: ContainerStatus) => V1ResourceRequirements | undefined;
  /** What the pod as a whole was last given; undefined where it has what it was granted. */
  readonly givenWhole: V1ResourceRequirements | undefined;
}

export function computePodActions(facts: PodFacts): PodActions {
  const { pod, status } = facts;
  const sandbox = sandboxChange(pod, status);
  if (sandbox.changed) return actionsForNewSandbox(pod, status, sandbox.attempt);

  // Each runs once: one that has a record, however it ended, is over.
  const ephemeralContainersToStart =
    pod.metadata.deletionTimestamp === undefined
      ? ephemeralContainers(pod).filter(({ name }) => latest(status, name) === undefined)
      : [];
  const base = {
    createSandbox: false,
    attempt: sandbox.attempt,
    sandboxId: sandbox.id,
    ephemeralContainersToStart,
    runsToForget: [],
  };
  if (restartsAll(pod, status)) return { ...base, ...beginAgain(pod, status) };
  const init = initActions(facts);
  if (!init.done)
    return {
      ...base,
      killPod: init.failed,
      initContainersToStart: init.start,
      containersToStart: [],
      containersToKill: init.kill,
      containersToResize: init.resize,
    };
  const decisions = pod.spec.containers.map((container) => decide(facts, container));
  const containersToStart = decisions.flatMap(({ start }) => start);
  const kept = decisions.some(({ keep }) => keep);
  const idle = !kept && containersToStart.length === 0;
  return {
    ...base,
    // Nothing runs and nothing will: the sandbox goes, and with it the sidecars.
    killPod: idle,
    ephemeralContainersToStart: idle ? [] : ephemeralContainersToStart,
    initContainersToStart: idle ? [] : init.start,
    containersToStart,
    containersToKill: idle ? [] : [...init.kill, ...decisions.flatMap(({ kill }) => kill)],
    containersToResize: idle ? [] : [...init.resize, ...decisions.flatMap(({ resize }) => resize)],
  };
}

/** A container has ended in a way for which its rules restart the whole pod, and that is not done yet. */
export function restartsAll(pod: Pod, status: RuntimePod): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  return lasting(pod).some((container) => {
    const run = latest(status, container.name);
    return run?.state === 'CONTAINER_EXITED' && ruleAfter(container, run.exitCode) === 'RestartAllContainers';
  });
}

/** Those that a new beginning concerns: one for debugging is not part of it. */
const lasting = ({ spec }: Pod): readonly V1Container[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
];

/** First everything ends, then every trace of it goes, so that the next look begins with the first init container. */
function beginAgain(pod: Pod, status: RuntimePod) {
  const runs = lasting(pod).flatMap((container) =>
    status.containers
      .filter(({ metadata }) => metadata.name === container.name)
      .map((run) => ({ container, run })),
  );
  const alive = runs.filter(({ run }) => isRunning(run) || run.state === 'CONTAINER_UNKNOWN');
  const message = 'Restarting all containers of the pod';
  return {
    killPod: false,
    initContainersToStart: [],
    containersToStart: [],
    containersToResize: [],
    containersToKill: alive.map(({ container, run }) => ({ container, id: run.id, message, atOnce: true })),
    runsToForget: alive.length > 0 ? [] : runs.map(({ run }) => run),
  };
}

/** Whether a container that is not running gets another run. */
export function shouldRestart(
  pod: Pod,
  container: V1Container,
  status: ContainerStatus | undefined,
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (status === undefined || status.state === 'CONTAINER_CREATED' || status.state === 'CONTAINER_UNKNOWN')
    return true;
  if (isRunning(status) || ephemeralContainers(pod).some((one) => one === container)) return false;
  return restartsAfter(pod.spec, container, status.exitCode);
}

interface SandboxChange {
  readonly changed: boolean;
  readonly attempt: number;
  readonly id: string | undefined;
}

function sandboxChange(pod: Pod, status: RuntimePod): SandboxChange {
  const [newest] = status.sandboxes;
  if (newest === undefined) return { changed: true, attempt: 0, id: undefined };
  const next = newest.metadata.attempt + 1;
  const ready = status.sandboxes.filter(({ state }) => state === 'SANDBOX_READY').length;
  const wantsHost = pod.spec.hostNetwork === true;
  const network = newest.linux?.namespaces.options.network;
  const wrongNetwork = network !== undefined && (network === 'NODE') !== wantsHost;
  const lostAddress = !wantsHost && (newest.network?.ip ?? '') === '';
  const changed = ready > 1 || newest.state !== 'SANDBOX_READY' || wrongNetwork || lostAddress;
  return { changed, attempt: changed ? next : newest.metadata.attempt, id: newest.id };
}

function actionsForNewSandbox(pod: Pod, status: RuntimePod, attempt: number): PodActions {
  const policy = pod.spec.restartPolicy ?? 'Always';
  const finished = (container: V1Container) => {
    const run = latest(status, container.name);
    const runsOnce = (container.restartPolicy ?? policy) === 'OnFailure';
    return run?.state === 'CONTAINER_EXITED' && run.exitCode === 0 && runsOnce;
  };
  const toStart = pod.spec.containers.filter((container) => !finished(container));
  // With Never, a pod whose containers have run once is not begun again because its sandbox went away.
  const over = policy === 'Never' && attempt > 0 && status.containers.length > 0;
  const createSandbox = !over && toStart.length > 0 && pod.metadata.deletionTimestamp === undefined;
  const inits = pod.spec.initContainers ?? [];
  return {
    killPod: true,
    createSandbox,
    attempt,
    sandboxId: status.sandboxes[0]?.id,
    // A new sandbox means a new network and new processes: initialisation begins again.
    initContainersToStart: createSandbox ? inits.slice(0, 1) : [],
    containersToStart: createSandbox && inits.length === 0 ? toStart : [],
    // They wait for the pod to run: what they look into is not there yet.
    ephemeralContainersToStart: [],
    runsToForget: [],
    containersToKill: [],
    containersToResize: [],
  };
}

interface InitActions {
  /** The main containers may run. */
  readonly done: boolean;
  /** An init container failed for good. */
  readonly failed: boolean;
  readonly start: readonly V1Container[];
  readonly kill: readonly ContainerKill[];
  readonly resize: readonly ContainerResize[];
}

function initActions(facts: PodFacts): InitActions {
  const { pod, status } = facts;
  const start: V1Container[] = [];
  const kill: ContainerKill[] = [];
  const resize: ContainerResize[] = [];
  // Main containers of this sandbox exist only once initialisation was over: it is not done twice.
  const mainsBegan = pod.spec.containers.some(({ name }) => latestHere(status, name) !== undefined);
  for (const container of pod.spec.initContainers ?? []) {
    const run = latestHere(status, container.name);
    if (isRestartable(container)) {
      const decision = decide(facts, container);
      start.push(...decision.start);
      kill.push(...decision.kill);
      resize.push(...decision.resize);
      const up = isRunning(run) && decision.keep && facts.isStarted(container, run);
      if (!up && !mainsBegan) return { done: false, failed: false, start, kill, resize };
      continue;
    }
    if (mainsBegan || (run?.state === 'CONTAINER_EXITED' && run.exitCode === 0)) continue;
    if (isRunning(run)) {
      const failure = facts.probeFailure(container, run);
      if (failure === undefined) {
        resize.push(...resized(facts, container, run).resize);
        return { done: false, failed: false, start, kill, resize };
      }
    }
    if (run?.state === 'CONTAINER_EXITED' && !restartsAfter(pod.spec, container, run.exitCode))
      return { done: false, failed: true, start: [], kill, resize };
    if (!isRunning(run)) start.push(container);
    return { done: false, failed: false, start, kill, resize };
  }
  return { done: true, failed: false, start, kill, resize };
}

interface Decision {
  readonly keep: boolean;
  readonly start: readonly V1Container[];
  readonly kill: readonly ContainerKill[];
  readonly resize: readonly ContainerResize[];
}

function decide(facts: PodFacts, container: V1Container): Decision {
  const run = latest(facts.status, container.name);
  if (!isRunning(run)) {
    const again = shouldRestart(facts.pod, container, run);
    // A container in an unknown state may still have a process; it is stopped before the next run.
    const kill =
      again && run?.state === 'CONTAINER_UNKNOWN'
        ? [
            {
              container,
              id: run.id,
              message: `Container is in "${run.state}" state, try killing it before restart`,
            },
          ]
        : [];
    return { keep: false, start: again ? [container] : [], kill, resize: [] };
  }
  const known = hashOf(run);
  if (known !== undefined && known !== containerHash(container)) {
    const message = `Container ${container.name} definition changed, will be restarted`;
    return { keep: false, start: [container], kill: [{ container, id: run.id, message }], resize: [] };
  }
  const failure = facts.probeFailure(container, run);
  if (failure === undefined) return resized(facts, container, run);
  const policy = container.restartPolicy ?? facts.pod.spec.restartPolicy ?? 'Always';
  const again = policy !== 'Never';
  const message = `Container ${container.name} failed ${failure.kind} probe${again ? ', will be restarted' : ''}`;
  return {
    keep: false,
    start: again ? [container] : [],
    kill: [{ container, id: run.id, message, probe: failure.kind }],
    resize: [],
  };
}

/** A healthy container: left alone, unless it was granted other resources than it has. */
function resized(facts: PodFacts, container: V1Container, run: ContainerStatus): Decision {
  const held = facts.given(container, run);
  const whole = facts.pod.spec.resources;
  const changed =
    held === undefined
      ? []
      : changedAmounts(
          withPodLimits(container.resources, whole),
          withPodLimits(held, whole && (facts.givenWhole ?? whole)),
        );
  if (changed.length === 0) return { keep: true, start: [], kill: [], resize: [] };
  const { id } = run;
  if (!needsRestart(container.resizePolicy, changed))
    return { keep: true, start: [], kill: [], resize: [{ container, id }] };
  const message = `Container ${container.name} resize requires restart`;
  return { keep: false, start: [container], kill: [{ container, id, message }], resize: [] };
}
