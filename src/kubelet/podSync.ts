// What a pod worker does: bring a pod up, keep it as its spec says, take it down. The IO around podActions.
// Guarantees: order is sandbox beside volumes and images, init containers, containers; status is told before and after.
import { availableParallelism } from 'node:os';
import type { V1Container, V1PodStatus } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import type { ContainerStatus, RuntimeService } from '../cri/runtime.js';
import type { KubeletConfig } from './config.js';
import type { Killer } from './container/killer.js';
import type { ContainerStarter } from './container/starter.js';
import { KubeletError } from './error.js';
import type { EventSink } from './events.js';
import { makeGate } from './gate.js';
import type { PullCredential } from './imageAccess.js';
import { removeContainerLog } from './logs/containerLog.js';
import { ephemeralContainers, isRestartable, podText } from './names.js';
import { computePodActions, type PodActions, restartsAll } from './podActions.js';
import type { PodSandboxes } from './podSandbox.js';
import type { PodFailure, PodSync, PodTermination, SyncOutcome } from './podWorkers.js';
import type { Pod, PodVolumes, Probes } from './ports.js';
import { givenTo, type Resizes } from './resize/resizes.js';
import type { PodCache } from './runtime/podCache.js';
import { isRunning, latest, livingContainers, type RuntimePod, readySandbox } from './runtime/runtimePod.js';
import { withNextRun } from './status/containerStatuses.js';
import { podStatus, probedStatuses } from './status/podStatus.js';
import type { StatusManager } from './status/statusManager.js';

interface PodSyncOptions {
  readonly config: KubeletConfig;
  readonly runtime: RuntimeService;
  readonly sandboxes: PodSandboxes;
  readonly cache: PodCache;
  readonly volumes: PodVolumes;
  readonly probes: Probes;
  readonly killer: Killer;
  readonly starter: ContainerStarter;
  readonly resizes: Resizes;
  readonly statuses: StatusManager;
  readonly events: EventSink;
  readonly log: Log;
  /** Wall clock, for the API. */
  readonly now: () => number;
  /** Clock of the cache. */
  readonly ticks: () => number;
  readonly hostIps: () => readonly string[];
  /** Undefined when pods may have their own network. */
  readonly networkProblem: () => string | undefined;
  readonly pullSecretsOf: (pod: Pod, container: V1Container) => Promise<readonly PullCredential[]>;
}

const FIRST_INIT_WAIT_MS = 20;
/**
 * Pods that are made at the same time for each processor. Runtimes do not gain by more of them: they wait for one
 * another's locks and mounts, and each of them becomes ready later.
 */
const STARTS_PER_CPU = 4;
/** A pod that takes longer than this makes room for the next. */
const START_COUNTS_MS = 2_000;

export class PodSyncer implements PodSync {
  readonly #options: PodSyncOptions;

  /** When the last sync of a pod ended: the runtime's state must be newer than that. */
  readonly #syncedAt = new Map<string, number>();
  /** What the runtime had of the pods that are being stopped. */
  readonly #endings = new Map<string, { runtimePod: RuntimePod; failure: PodFailure | undefined }>();
  readonly #volumesAt = new Map<string, number>();
  readonly #initWaits = new Map<string, number>();
  readonly #starts = makeGate(STARTS_PER_CPU * availableParallelism(), {
    countsForMs: START_COUNTS_MS,
  });

  constructor(options: PodSyncOptions) {
    this.#options = options;
  }

  async sync(pod: Pod, signal: AbortSignal): Promise<SyncOutcome> {
    const { uid } = pod.metadata;
    try {
      return await this.#syncOnce(pod, signal);
    } finally {
      this.#syncedAt.set(uid, this.#options.ticks());
    }
  }

  async terminating(uid: string, pod: Pod | undefined, end: PodTermination): Promise<void> {
    const { cache, killer, probes } = this.#options;
    const before = await cache.newerThan(uid, this.#syncedAt.get(uid) ?? Number.NEGATIVE_INFINITY);
    if (pod !== undefined) this.#tell(pod, before, { isTerminating: false, failure: end.failure });
    this.#endings.set(uid, { runtimePod: before, failure: end.failure });
    await Promise.all([
      killer.killPod(pod, before, { graceSeconds: end.graceSeconds, signal: end.signal }),
      end.failure !== undefined && end.graceSeconds === 0 ? this.#endAtOnce(uid) : undefined,
    ]).finally(() => this.#endings.delete(uid));
    // Stopping may have let something slip in that was being made: only an empty look ends this phase.
    const after = await cache.refresh(uid);
    const alive = livingContainers(after);
    if (alive.length > 0)
      throw new KubeletError('RunContainerError', `${alive.length} containers are still running`);
    probes.remove(uid);
    if (pod !== undefined) this.#tell(pod, after, { isTerminating: true, failure: end.failure });
  }

  /** A probe goes on while the containers end, and who sends to the pod must hear what it says. */
  retell(pod: Pod): void {
    const ending = this.#endings.get(pod.metadata.uid);
    if (ending !== undefined)
      this.#tell(pod, ending.runtimePod, { isTerminating: false, failure: ending.failure });
  }

  /**
   * A pod that must go without grace is often one that filled the disk, and a runtime that cannot write there stops
   * nothing: its processes are ended and its files removed without it.
   */
  async #endAtOnce(uid: string): Promise<void> {
    const { sandboxes, volumes, log } = this.#options;
    try {
      if (await sandboxes.killProcesses(uid)) await volumes.tearDown(uid);
    } catch (error) {
      log.warn('cannot end a pod at once', { podUid: uid, error: messageOf(error) });
    }
  }

  async terminated(uid: string, pod: Pod | undefined): Promise<void> {
    const { volumes, statuses, starter, resizes, sandboxes } = this.#options;
    await volumes.tearDown(uid);
    await sandboxes.forget(uid);
    starter.forget(uid);
    this.#syncedAt.delete(uid);
    this.#volumesAt.delete(uid);
    this.#initWaits.delete(uid);
    resizes.forget(uid);
    // The worker is finished when this returns; only then may the API forget the pod.
    if (pod !== undefined) setImmediate(() => statuses.flush(uid));
  }

  async erase(uid: string): Promise<void> {
    const { cache, runtime, volumes, statuses, config } = this.#options;
    const { containers, sandboxes } = await cache.refresh(uid);
    for (const { id, logPath } of containers) {
      await runtime.removeContainer(id);
      await removeContainerLog(logPath, config.podLogsDir);
    }
    for (const { id } of sandboxes) {
      await runtime.stopPodSandbox(id);
      await runtime.removePodSandbox(id);
    }
    await volumes.remove(uid);
    statuses.remove(uid);
    await cache.refresh(uid);
  }

  async #syncOnce(pod: Pod, signal: AbortSignal): Promise<SyncOutcome> {
    const { uid } = pod.metadata;
    const since = this.#syncedAt.get(uid) ?? Number.NEGATIVE_INFINITY;
    const runtimePod = await this.#options.cache.newerThan(uid, since);
    if (readySandbox(runtimePod) !== undefined) return this.#bring(pod, runtimePod, signal);
    return this.#starts(() => this.#bring(pod, runtimePod, signal), signal);
  }

  /** Brings the pod from what the runtime has of it to what its spec says. */
  async #bring(pod: Pod, runtimePod: RuntimePod, signal: AbortSignal): Promise<SyncOutcome> {
    const { cache, probes, config, resizes } = this.#options;
    const { uid } = pod.metadata;
    resizes.notice(pod);
    const before = this.#tell(pod, runtimePod);
    if (hasEnded(before)) return { terminal: true };
    const deadline = this.#deadline(pod, before);
    if (deadline.failure !== undefined) return { terminal: false, failure: deadline.failure };
    const problem = pod.spec.hostNetwork === true ? undefined : this.#options.networkProblem();
    if (problem !== undefined) {
      this.#warn(pod, 'NetworkNotReady', `network is not ready: ${problem}`);
      throw new KubeletError('CreatePodSandboxError', `network is not ready: ${problem}`);
    }
    const actions = computePodActions({
      pod,
      status: runtimePod,
      probeFailure: (_, run) => probes.hasFailed(uid, run.id),
      isStarted: (_, run) => probes.isStarted(uid, run.id),
      given: ({ name }, run) => givenTo(before, name, run.id),
      givenWhole: before.resources,
    });
    const retryMs = least(
      await this.#perform(pod, runtimePod, before, actions, signal),
      await resizes.perform(pod, before, actions),
    );
    const acted = actions.createSandbox || actions.killPod || hasWork(actions);
    const seen = acted ? await cache.refresh(uid) : runtimePod;
    // Nothing was done: what was told before holds. Most syncs of a full node are such.
    let after = acted || resizes.of(uid) !== undefined ? this.#tell(pod, seen) : before;
    if (resizes.end(pod, after)) after = this.#tell(pod, seen);
    const waits = [retryMs, deadline.leftMs, this.#initWaitMs(pod, actions), config.syncFrequencyMs].filter(
      (ms) => ms !== undefined,
    );
    return { terminal: hasEnded(after), resyncAfterMs: Math.min(...waits) };
  }

  /** Init containers are often over at once: while one is young the pod is looked at sooner than by the next relist. */
  #initWaitMs(pod: Pod, { initContainersToStart }: PodActions): number | undefined {
    const { uid } = pod.metadata;
    const { config, cache } = this.#options;
    if (initContainersToStart.some((container) => !isRestartable(container)))
      this.#initWaits.set(uid, FIRST_INIT_WAIT_MS);
    const waitMs = this.#initWaits.get(uid);
    if (waitMs === undefined) return undefined;
    const isOver = !(pod.spec.initContainers ?? []).some(({ name }) =>
      isRunning(latest(cache.get(uid), name)),
    );
    if (isOver || waitMs > config.plegRelistPeriodMs) this.#initWaits.delete(uid);
    else this.#initWaits.set(uid, waitMs * 2);
    return isOver ? undefined : waitMs;
  }

  async #perform(
    pod: Pod,
    runtimePod: RuntimePod,
    before: V1PodStatus,
    actions: PodActions,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    if (actions.killPod) await this.#killPod(pod, runtimePod, signal);
    else await this.#killContainers(pod, runtimePod, { actions, podIp: before.podIP, signal });
    if (restartsAll(pod, runtimePod)) return this.#beginAgain(pod, actions.runsToForget);
    if (actions.createSandbox || hasWork(actions))
      return this.#startContainers(pod, runtimePod, { before, actions, signal });
    if (!actions.killPod) await this.#refreshVolumes(pod);
    return undefined;
  }

  async #killPod(pod: Pod, runtimePod: RuntimePod, signal: AbortSignal): Promise<void> {
    const { killer, log } = this.#options;
    if (runtimePod.sandboxes.length > 0)
      log.info('stopping what is left of a pod before its next sandbox', { pod: podText(pod) });
    await killer.killPod(pod, runtimePod, { signal });
  }

  async #killContainers(
    pod: Pod,
    { containers }: RuntimePod,
    { actions, podIp, signal }: { actions: PodActions; podIp: string | undefined; signal: AbortSignal },
  ): Promise<void> {
    await Promise.all(
      actions.containersToKill.map(async ({ id, message, probe, atOnce }) => {
        const run = containers.find((one) => one.id === id);
        const graceSeconds = atOnce === true ? 0 : undefined;
        if (run !== undefined)
          await this.#options.killer.killContainer(pod, run, podIp, { message, probe, signal, graceSeconds });
      }),
    );
  }

  /** Answers when one that waits for its back-off is due. */
  async #startContainers(
    pod: Pod,
    runtimePod: RuntimePod,
    { before, actions, signal }: { before: V1PodStatus; actions: PodActions; signal: AbortSignal },
  ): Promise<number | undefined> {
    const { starter, pullSecretsOf } = this.#options;
    const toStart = [
      ...actions.ephemeralContainersToStart,
      ...actions.initContainersToStart,
      ...actions.containersToStart,
    ];
    // A new sandbox takes longest: volumes and images become ready beside it. None of them is left alone when one fails.
    const images = actions.createSandbox ? starter.fetchImages(pod, toStart, pullSecretsOf) : undefined;
    const { sandbox, volumes } = await this.#surroundings(pod, actions, signal);
    signal.throwIfAborted();
    let retryMs: number | undefined;
    for (const container of toStart) {
      const waitMs = await starter.start({
        pod,
        container,
        sandboxId: sandbox.id,
        sandboxConfig: sandbox.config,
        podIps: sandbox.podIps,
        volumes,
        signal,
        image: images?.get(container.name),
        targetId: targetOf(pod, container, runtimePod),
        previous: latest(runtimePod, container.name),
        lastExit: runtimePod.containers.find(
          ({ metadata, state }) => metadata.name === container.name && state === 'CONTAINER_EXITED',
        ),
        restartsShown: restartsShown(before, container),
        pullSecrets: (one) => pullSecretsOf(pod, one),
      });
      if (waitMs !== undefined) retryMs = Math.min(retryMs ?? waitMs, waitMs);
      signal.throwIfAborted();
    }
    return retryMs;
  }

  /** Both are waited for, whichever fails. */
  async #surroundings(pod: Pod, actions: PodActions, signal: AbortSignal) {
    const [volumes, sandbox] = await Promise.allSettled([
      this.#setUpVolumes(pod),
      this.#options.sandboxes.of(pod, actions, signal),
    ]);
    if (sandbox.status === 'rejected') throw sandbox.reason;
    if (volumes.status === 'rejected') throw volumes.reason;
    return { sandbox: sandbox.value, volumes: volumes.value };
  }

  /** Forgets runs that have ended, so that the pod's next look begins with its first container. Answers when that is. */
  async #beginAgain(pod: Pod, runs: readonly ContainerStatus[]): Promise<number> {
    const { runtime, statuses, starter, config } = this.#options;
    if (runs.length > 0) {
      // What is gone from the runtime is remembered here: how often each ran, and how it ended.
      statuses.set(pod, withNextRun(statuses.get(pod)));
      starter.remember(pod, runs);
      await Promise.all(
        runs.map(async ({ id, logPath }) => {
          await runtime.removeContainer(id);
          await removeContainerLog(logPath, config.podLogsDir);
        }),
      );
    }
    return FIRST_INIT_WAIT_MS;
  }

  /** What changed in the API comes into the volumes of a running pod, within the time that Kubernetes takes. */
  async #refreshVolumes(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    const projects = pod.spec.volumes?.some(
      ({ configMap, secret, projected, downwardAPI }) => configMap ?? secret ?? projected ?? downwardAPI,
    );
    // Half of the sync period: each resync of a quiet pod finds its volumes due.
    const periodMs = this.#options.config.syncFrequencyMs / 2;
    if (!projects || this.#options.ticks() - (this.#volumesAt.get(uid) ?? 0) < periodMs) return;
    await this.#setUpVolumes(pod);
  }

  async #setUpVolumes(pod: Pod): Promise<ReadonlyMap<string, string>> {
    try {
      const paths = await this.#options.volumes.setUp(pod);
      this.#volumesAt.set(pod.metadata.uid, this.#options.ticks());
      return paths;
    } catch (error) {
      this.#warn(pod, 'FailedMount', messageOf(error));
      throw error;
    }
  }

  /** Computes the status and hands it on. */
  #tell(
    pod: Pod,
    runtime: RuntimePod,
    end: { isTerminating: boolean; failure?: PodFailure | undefined } = { isTerminating: false },
  ): V1PodStatus {
    const { statuses, probes, starter, hostIps, now } = this.#options;
    const { uid } = pod.metadata;
    const previous = statuses.get(pod);
    // A pod that ended before this kubelet knew it, and of which nothing is left: there is nothing to add.
    if (hasEnded(previous) && runtime.containers.length === 0) {
      statuses.set(pod, previous);
      return previous;
    }
    const compute = () =>
      podStatus({
        pod,
        runtime,
        ...end,
        previous,
        failures: starter.failuresOf(uid),
        isReady: (id) => probes.isReady(uid, id),
        isStarted: (id) => probes.isStarted(uid, id),
        pendingResize: this.#options.resizes.pending(uid),
        resizing: this.#options.resizes.of(uid),
        hostIps: hostIps(),
        now: now(),
      });
    let status = compute();
    if (!end.isTerminating) {
      // The probes hear of a new container before its status is told: until they have passed it is not ready.
      probes.update(pod, probedStatuses(status), status.podIP);
      status = compute();
    }
    statuses.set(pod, status);
    return status;
  }

  #deadline(pod: Pod, { startTime }: V1PodStatus): { leftMs?: number; failure?: PodFailure } {
    const seconds = pod.spec.activeDeadlineSeconds;
    if (seconds === undefined || startTime === undefined) return {};
    const leftMs = Date.parse(startTime) + seconds * 1000 - this.#options.now();
    if (leftMs > 0) return { leftMs };
    const message = 'Pod was active on the node longer than the specified deadline';
    this.#options.events.event(pod, { type: 'Normal', reason: 'DeadlineExceeded', message });
    return { failure: { reason: 'DeadlineExceeded', message } };
  }

  #warn(pod: Pod, reason: string, message: string): void {
    this.#options.events.event(pod, { type: 'Warning', reason, message });
  }
}

const hasEnded = ({ phase }: V1PodStatus) => phase === 'Succeeded' || phase === 'Failed';

const hasWork = (actions: PodActions) =>
  actions.runsToForget.length > 0 ||
  actions.ephemeralContainersToStart.length > 0 ||
  actions.initContainersToStart.length > 0 ||
  actions.containersToStart.length > 0 ||
  actions.containersToKill.length > 0;

function least(...delays: readonly (number | undefined)[]): number | undefined {
  const known = delays.filter((ms) => ms !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** The running container whose processes an ephemeral one asks to see. */
function targetOf(pod: Pod, { name }: V1Container, runtimePod: RuntimePod): string | undefined {
  const target = ephemeralContainers(pod).find((one) => one.name === name)?.targetContainerName;
  const run = target === undefined || target === '' ? undefined : latest(runtimePod, target);
  return isRunning(run) ? run.id : undefined;
}

/** Restarts that the API shows, for a container of which the runtime kept no trace. */
function restartsShown(status: V1PodStatus, { name }: V1Container): number {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return all.find((one) => one.name === name)?.restartCount ?? 0;
}
