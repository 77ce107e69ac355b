// Removes what is left over: pods that no source has, dead containers, directories and control groups of deleted pods.
// Guarantees: nothing is removed before every source has reported; a failed removal is retried in the next round and
// blocks no other.
import { readdir, rm } from 'node:fs/promises';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import type { RuntimeService } from '../cri/runtime.js';
import type { CgroupPort } from '../kernel/cgroup/port.js';
import type { KubeletConfig } from './config.js';
import { findGarbage } from './containerGC.js';
import { removeContainerLog } from './logs/containerLog.js';
import type { PodManager } from './podManager.js';
import type { PodWorkers } from './podWorkers.js';
import type { PodVolumes } from './ports.js';
import { kubepods } from './resources.js';
import type { PodCache } from './runtime/podCache.js';
import type { StatusManager } from './status/statusManager.js';

export interface HousekeepingOptions {
  readonly config: KubeletConfig;
  readonly runtime: RuntimeService;
  readonly cgroups: CgroupPort | undefined;
  readonly volumes: PodVolumes;
  readonly cache: PodCache;
  readonly pods: PodManager;
  readonly workers: PodWorkers;
  readonly statuses: StatusManager;
  readonly log: Log;
}

type Wanted = (uid: string) => boolean;

/** What lies on disk is looked through when a pod has gone, and otherwise in one round of so many. */
const SWEEP_EVERY = 30;

export class Housekeeping {
  readonly #options: HousekeepingOptions;

  #running = false;
  #rounds = 0;
  /** Pods of the last round: one that is missing now may have left something. */
  #known: ReadonlySet<string> = new Set();

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  /** One round; answers at once when one is already under way. */
  async round(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      const { pods, workers, cache } = this.#options;
      // Asked anew each time: a pod may come while a round waits for the runtime.
      const isWanted = (uid: string) => pods.get(uid) !== undefined;
      // What the runtime has and nobody wants, such as the pods of a manifest removed while the kubelet was away.
      for (const { uid } of cache.pods())
        if (!isWanted(uid) && !workers.knows(uid) && !this.#isGarbageOnly(uid))
          workers.terminate(uid, { isRemoved: true });
      await this.#attempt('collect containers', () => this.#collect(isWanted));
      if (this.#isSweepDue()) await this.#sweep(isWanted);
      this.#forget(isWanted);
      workers.retain(isWanted);
    } finally {
      this.#running = false;
    }
  }

  /** While a pod is on its way out every round looks: what it leaves is gone soon after it. */
  #isSweepDue(): boolean {
    const { pods, cache, statuses } = this.#options;
    const before = this.#known;
    this.#known = new Set([...cache.pods().map(({ uid }) => uid), ...statuses.uids()]);
    const someLeft = [...before].some((uid) => !this.#known.has(uid));
    const someLeave = [...this.#known].some((uid) => pods.get(uid) === undefined);
    return this.#rounds++ % SWEEP_EVERY === 0 || someLeft || someLeave;
  }

  async #sweep(isWanted: Wanted): Promise<void> {
    await this.#attempt('remove volumes', () => this.#removeVolumes(isWanted));
    await this.#attempt('remove control groups', () => this.#removeCgroups(isWanted));
    await this.#attempt('remove logs', () => this.#removeLogs(isWanted));
  }

  /** Gone from every source, and nothing of it runs. */
  #isGone(uid: string, isWanted: Wanted): boolean {
    const { workers } = this.#options;
    return !isWanted(uid) && (workers.isFinished(uid) || (!workers.knows(uid) && this.#isGarbageOnly(uid)));
  }

  #isGarbageOnly(uid: string): boolean {
    const { sandboxes, containers } = this.#options.cache.get(uid);
    return (
      sandboxes.every(({ state }) => state === 'SANDBOX_NOTREADY') &&
      containers.every(({ state }) => state === 'CONTAINER_EXITED' || state === 'CONTAINER_CREATED')
    );
  }

  async #collect(isWanted: Wanted): Promise<void> {
    const { cache, runtime, config } = this.#options;
    const pods = cache.pods();
    const { containers, sandboxes } = findGarbage({
      pods,
      isGone: (uid) => this.#isGone(uid, isWanted),
      keepPerContainer: 1,
    });
    if (containers.length + sandboxes.length === 0) return;
    await this.#each('remove a container', containers, async ({ id, logPath }) => {
      await runtime.removeContainer(id);
      await removeContainerLog(logPath, config.podLogsDir);
    });
    await this.#each('remove a sandbox', sandboxes, async ({ id }) => {
      await runtime.stopPodSandbox(id); // again: its network may not have been taken down before a crash
      await runtime.removePodSandbox(id);
    });
    const touched = pods.filter(
      (pod) =>
        pod.containers.some((one) => containers.includes(one)) ||
        pod.sandboxes.some((one) => sandboxes.includes(one)),
    );
    await this.#each('look at a pod', touched, ({ uid }) => cache.refresh(uid));
  }

  async #removeVolumes(isWanted: Wanted): Promise<void> {
    const { volumes } = this.#options;
    const gone = (await volumes.podsOnDisk()).filter((uid) => this.#mayGo(uid, isWanted));
    await this.#each('remove volumes', gone, (uid) => volumes.remove(uid));
  }

  async #removeCgroups(isWanted: Wanted): Promise<void> {
    const { cgroups, config } = this.#options;
    if (cgroups === undefined || !config.cgroupsPerQOS) return;
    for (const parent of ['', '/burstable', '/besteffort'].map(
      (qos) => `${kubepods(config.cgroupRoot)}${qos}`,
    ))
      await this.#each('remove a control group', await cgroups.children(parent), async (name) => {
        const uid = /^pod([0-9a-z-]+)$/.exec(name)?.[1];
        if (uid !== undefined && this.#mayGo(uid, isWanted)) await cgroups.remove(`${parent}/${name}`);
      });
  }

  async #removeLogs(isWanted: Wanted): Promise<void> {
    const { config } = this.#options;
    const names = await readdir(config.podLogsDir).catch(() => []); // not there before the first pod
    await this.#each('remove logs', names, async (name) => {
      const uid = /^[^_]+_[^_]+_([0-9a-z-]+)$/.exec(name)?.[1];
      if (uid === undefined || !this.#mayGo(uid, isWanted)) return;
      await rm(`${config.podLogsDir}/${name}`, { recursive: true, force: true });
    });
  }

  /** Nobody wants it, nobody works on it, and the runtime has nothing of it left. */
  #mayGo(uid: string, isWanted: Wanted): boolean {
    const { workers, cache } = this.#options;
    if (isWanted(uid) || (workers.knows(uid) && !workers.isFinished(uid))) return false;
    const { sandboxes, containers } = cache.get(uid);
    return sandboxes.length + containers.length === 0;
  }

  #forget(isWanted: Wanted): void {
    const { workers, statuses, cache } = this.#options;
    for (const uid of statuses.uids())
      if (!isWanted(uid) && (!workers.knows(uid) || workers.isFinished(uid))) statuses.remove(uid);
    cache.dropEmpty((uid) => !isWanted(uid) && (!workers.knows(uid) || workers.isFinished(uid)));
  }

  /** One after the other; one that fails is told and passed over. */
  async #each<T>(what: string, items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
    for (const item of items) await this.#attempt(what, () => work(item));
  }

  async #attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.log.warn(`cannot ${what}`, { error: messageOf(error) });
    }
  }
}
