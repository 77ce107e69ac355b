// Puts a kubelet together: each part is made by a method named after it and meets the others through this class.
// Guarantees: parts that need each other are looked up when they are used, so the order of making them is no order of use.
import type { RuntimeHandlerFeatures } from '../cri/runtime.js';
import type { KubeletConfig } from './config.js';
import type { KubeletParts, KubeletStats, OpenedDependencies, RunningKubelet } from './dependencies.js';
import { EvictionManager } from './eviction/evictionManager.js';
import { Housekeeping } from './housekeeping.js';
import { ImageGC } from './imageGC.js';
import { MirrorPods } from './mirrorPods.js';
import { reachableAddresses } from './node/machine.js';
import { NodeManager } from './node/nodeManager.js';
import { allocatableOf, nodeLabels, nodeOf } from './node/nodeStatus.js';
import { PeriodicTasks } from './periodicTasks.js';
import { Pleg } from './pleg.js';
import { PodManager } from './podManager.js';
import type { PodSyncer } from './podSync.js';
import { makePodSyncer } from './podSyncParts.js';
import { PodWorkers } from './podWorkers.js';
import type { Pod } from './ports.js';
import { Allocations } from './resize/allocations.js';
import { fetchPod } from './runtime/fetchPod.js';
import { PodCache } from './runtime/podCache.js';
import { livingContainers } from './runtime/runtimePod.js';
import { RuntimeClasses } from './runtimeClasses.js';
import { RuntimeState } from './runtimeState.js';
import { SYSTEM_LOGIND } from './shutdown/logind.js';
import { shutdownPeriods } from './shutdown/plan.js';
import { ShutdownManager } from './shutdown/shutdownManager.js';
import { PodSources } from './sources/podSources.js';
import { StatsCollector } from './stats/collector.js';
import { KubeletMetrics } from './stats/kubeletMetrics.js';
import { cadvisorMetrics, resourceMetrics } from './stats/metrics.js';
import { summaryOf } from './stats/summary.js';
import { StatusManager } from './status/statusManager.js';
import { SyncLoop } from './syncLoop.js';
import { imageVolumeProblem } from './volumes/imageVolume.js';

const ticks = () => performance.now();

export class KubeletAssembly implements RunningKubelet {
  readonly config: KubeletConfig;
  readonly stats: KubeletStats;
  readonly #around: OpenedDependencies;
  readonly #pods = new PodManager();
  readonly #allocations = new Allocations();
  readonly #cache: PodCache;
  readonly #metrics: KubeletMetrics;
  readonly #collector: StatsCollector;
  readonly #statuses: StatusManager;
  readonly #classes: RuntimeClasses;
  readonly #state: RuntimeState;
  readonly #parts: KubeletParts;
  readonly #workers: PodWorkers;
  readonly #pleg: Pleg;
  readonly #node: NodeManager | undefined;
  readonly #loop: SyncLoop;
  readonly #shutdown: ShutdownManager;
  readonly #eviction: EvictionManager;
  readonly #periodicTasks: PeriodicTasks;
  readonly #sources: PodSources;

  constructor(around: OpenedDependencies) {
    this.#around = around;
    const { config, runtime: cri, informers, log, now, cgroupStats } = around;
    this.config = config;
    this.#cache = new PodCache((uid) => fetchPod(cri.runtime, uid, config.podLogsDir), ticks);
    this.#metrics = new KubeletMetrics({
      nodeName: config.nodeName,
      runtimePods: () => this.#cache.pods(),
    });
    const pods = this.#pods;
    this.#collector = new StatsCollector({ config, cri, cache: this.#cache, pods, now, cgroupStats, log });
    this.#statuses = this.#makeStatuses();
    this.#classes = new RuntimeClasses(informers);
    this.#state = new RuntimeState(cri, log, () => {
      this.#node?.changed();
      for (const { metadata } of pods.all()) this.#wake(metadata.uid);
    });
    this.#parts = this.#makePodParts();
    this.#workers = new PodWorkers(this.#makeSyncer(), { log, resyncMs: config.syncFrequencyMs });
    this.#pleg = this.#makePleg();
    this.#node = this.#makeNode();
    this.#loop = this.#makeLoop();
    const imageGC = this.#makeImageGC();
    this.#shutdown = this.#makeShutdown();
    this.#eviction = this.#makeEviction(imageGC);
    this.#periodicTasks = this.#makePeriodicTasks(imageGC);
    this.#sources = new PodSources({
      config,
      informers,
      log,
      now,
      take: (update) => this.#loop.take(update),
      heardNode: (found) => this.#node?.heard(found),
    });
    this.stats = this.#makeStats();
  }

  /** The node shows itself at once; pods wait for the first relist, which tells what already runs. */
  start(): void {
    this.#node?.start();
    this.#startPods().catch((error: unknown) =>
      this.#around.log.error('the kubelet did not start', { error: String(error) }),
    );
  }

  async #startPods(): Promise<void> {
    await Promise.all([this.#state.start(), this.#pleg.start()]);
    await this.#around.pullRecords.settle(this.#around.runtime.images);
    await this.#sources.start();
    this.#loop.start();
    this.#periodicTasks.start();
    this.#shutdown.start();
    this.#node?.changed();
  }

  /** Stops the loops; containers go on running. */
  async stop(): Promise<void> {
    this.#sources.stop();
    this.#loop.stop();
    this.#shutdown.stop();
    await this.#periodicTasks.stop();
    this.#state.stop();
    this.#workers.stop();
    this.#parts.stop();
    this.#statuses.stop();
    await Promise.all([this.#pleg.stop(), this.#node?.stop()]);
  }

  pods(): readonly Pod[] {
    return this.#pods.all().map((pod) => this.#shown(pod));
  }

  pod(namespace: string, name: string): Pod | undefined {
    const found = this.#pods.byName(namespace, name);
    return found && this.#shown(found);
  }

  podByUid(uid: string): Pod | undefined {
    const found = this.#pods.get(uid);
    return found && this.#shown(found);
  }

  node() {
    return this.#node?.current();
  }

  allocatable(): Readonly<Record<string, string>> {
    return allocatableOf(this.config, this.#around.machine);
  }

  unhealthy(): string | undefined {
    return this.#pleg.unhealthy();
  }

  #shown(pod: Pod): Pod {
    return { ...pod, status: this.#statuses.get(pod) };
  }

  #wake(uid: string): void {
    this.#workers.wake(uid);
  }

  #hostIps(): readonly string[] {
    return this.config.nodeIps.length > 0 ? this.config.nodeIps : reachableAddresses();
  }

  #named() {
    return {
      name: this.config.nodeName,
      labels: {
        ...nodeLabels(this.config, this.#around.machine),
        ...this.#node?.current()?.metadata.labels,
      },
    };
  }

  #handlerOf(pod: Pod): RuntimeHandlerFeatures | undefined {
    const handler = this.#classes.handlerOf(pod);
    return this.#state.facts().handlers.find((one) => one.name === handler)?.features;
  }

  #tellNode(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const about = this.#node?.current();
    if (about !== undefined) this.#around.events.event({ ...about, kind: 'Node' }, { type, reason, message });
  }

  #makeStatuses(): StatusManager {
    const { client, log } = this.#around;
    const statuses = new StatusManager({
      client,
      log,
      apiPod: (pod) => this.#pods.apiPod(pod),
      isFinished: (uid) => this.#workers.isFinished(uid),
    });
    statuses.on((pod, status, previous) => this.#metrics.told(pod, status, previous));
    return statuses;
  }

  #makePodParts(): KubeletParts {
    return this.#around.parts({
      config: this.config,
      hostIps: () => this.#hostIps(),
      allocatable: () => this.allocatable(),
      node: () => this.#named(),
      events: this.#around.events,
      wake: (uid) => this.#wake(uid),
      statusOf: (pod) => this.#statuses.get(pod),
      handlerOf: (pod) => this.#handlerOf(pod),
      imageProblem: (use) => imageVolumeProblem(this.#state.facts().version, use),
      probed: (pod, container, kind, { outcome }) => this.#metrics.probed(pod, container, kind, outcome),
    });
  }

  #makeSyncer(): PodSyncer {
    return makePodSyncer({
      ...this.#around,
      cache: this.#cache,
      statuses: this.#statuses,
      classes: this.#classes,
      allocations: this.#allocations,
      kubeletParts: this.#parts,
      ticks,
      hostIps: () => this.#hostIps(),
      canMapUsers: (pod) => this.#handlerOf(pod)?.userNamespaces === true,
      networkProblem: () => this.#state.networkProblem(),
    });
  }

  #makePleg(): Pleg {
    const { runtime: cri, pleg: differ, log } = this.#around;
    return new Pleg({
      runtime: cri.runtime,
      cache: this.#cache,
      log,
      differ,
      now: ticks,
      periodMs: this.config.plegRelistPeriodMs,
      changed: (uid) => this.#wake(uid),
      isBusy: (uid) => this.#workers.isBusy(uid),
      relisted: (startedMs, endedMs, succeeded) => this.#metrics.relisted(startedMs, endedMs, succeeded),
    });
  }

  #makeNode(): NodeManager | undefined {
    const { client, machine, log, now, events } = this.#around;
    const { config } = this;
    if (client === undefined) return undefined;
    return new NodeManager({
      client,
      config,
      log,
      now,
      events,
      describe: async (previous = []) =>
        nodeOf({
          config,
          machine,
          previous,
          hasPressure: (condition) => this.#eviction.has(condition),
          runtime: this.#state.facts(),
          plegProblem: this.#pleg.unhealthy(),
          shutdownProblem: this.#shutdown.problem(),
          addresses: this.#hostIps(),
          now: now(),
        }),
    });
  }

  #makeLoop(): SyncLoop {
    const { client, runtime: cri, cgroups, events, log, now } = this.#around;
    const [pods, workers, statuses, cache] = [this.#pods, this.#workers, this.#statuses, this.#cache];
    const { config } = this;
    const { runtime } = cri;
    const { volumes } = this.#parts;
    return new SyncLoop({
      pods,
      workers,
      statuses,
      allocations: this.#allocations,
      mirrors: client && new MirrorPods({ client, pods, log, node: () => this.node() }),
      events,
      log,
      now,
      node: () => this.#admittingNode(),
      housekeeping: new Housekeeping({
        config,
        runtime,
        cgroups,
        volumes,
        cache,
        pods,
        workers,
        statuses,
        log,
      }),
      periodMs: config.housekeepingPeriodMs,
      sourcesReady: () => this.#sources.allReady(),
      readNode: async () => this.#node?.readNow(),
      isAlive: (uid) => livingContainers(cache.get(uid)).length > 0,
    });
  }

  /** The node as pods are admitted to it. */
  #admittingNode() {
    const { config } = this;
    return {
      ...this.#named(),
      taints: this.#node?.current()?.spec.taints ?? config.registerWithTaints,
      allocatable: this.allocatable(),
      pressures: (['MemoryPressure', 'DiskPressure', 'PIDPressure'] as const).filter((one) =>
        this.#eviction.has(one),
      ),
      isShuttingDown: this.#shutdown.problem() !== undefined,
      allowedUnsafeSysctls: config.allowedUnsafeSysctls,
      hasAppArmor: this.#around.machine.hasAppArmor,
      hasStrictGroups: this.#state.facts().features?.supplementalGroupsPolicy === true,
    };
  }

  #makeImageGC(): ImageGC {
    const { runtime: cri, log, now, pullRecords } = this.#around;
    return new ImageGC({
      cri,
      config: this.config,
      log,
      now,
      pullRecords,
      runtimePods: () => this.#cache.pods(),
      imageFs: async () => (await this.#collector.sample()).imageFs,
      failed: (message) => this.#tellNode('Warning', 'FreeDiskSpaceFailed', message),
    });
  }

  /** What whoever ends pods of its own accord knows of them. */
  #ending() {
    const workers = this.#workers;
    return {
      pods: () => this.#pods.all().filter((pod) => workers.phaseOf(pod.metadata.uid) === 'sync'),
      isGone: (uid: string) => !workers.knows(uid) || workers.isFinished(uid),
      workers,
      log: this.#around.log,
      tellNode: (type: 'Normal' | 'Warning', reason: string, message: string) =>
        this.#tellNode(type, reason, message),
    };
  }

  #makeShutdown(): ShutdownManager {
    return new ShutdownManager({
      ...this.#ending(),
      periods: shutdownPeriods(this.config),
      logind: this.#around.logind ?? SYSTEM_LOGIND,
      changed: () => this.#node?.changed(),
    });
  }

  #makeEviction(imageGC: ImageGC): EvictionManager {
    const { events, now } = this.#around;
    return new EvictionManager({
      ...this.#ending(),
      config: this.config,
      events,
      now,
      sample: () => this.#collector.sample(),
      sampleAnew: () => this.#collector.sampleAnew(),
      reclaimDisk: () => imageGC.removeUnused(),
      pressureChanged: () => this.#node?.changed(),
      evicted: (signal) => this.#metrics.evicted(signal),
    });
  }

  #makePeriodicTasks(imageGC: ImageGC): PeriodicTasks {
    const { runtime: cri, log, now } = this.#around;
    return new PeriodicTasks({
      config: this.config,
      runtime: cri.runtime,
      cache: this.#cache,
      log,
      now,
      imageGC,
      eviction: this.#eviction,
      tellNode: (type, reason, message) => this.#tellNode(type, reason, message),
      forget: () => this.#metrics.forgetPods((uid) => this.#pods.get(uid) === undefined),
    });
  }

  #makeStats(): KubeletStats {
    const sample = () => this.#collector.sample();
    return {
      summary: async () => summaryOf(this.config.nodeName, await sample()),
      resource: async () => resourceMetrics(await sample()),
      cadvisor: async () => cadvisorMetrics(await sample()),
      probes: () => this.#metrics.probesText(),
      own: async () => `${this.#metrics.text()}${(await this.#around.otherMetrics?.()) ?? ''}`,
    };
  }
}
