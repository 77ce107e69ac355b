// The kubelet: pods from the API and from manifests become containers, and their state becomes status.
// Guarantees: one call starts everything; stop() leaves every container running for the next kubelet to find.
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { V1Node, V1Secret } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import type { Stored } from '../api/object.js';
import type { Client } from '../client/client.js';
import type { Informers } from '../client/informer.js';
import type { ContainerRuntime, RuntimeHandlerFeatures } from '../cri/runtime.js';
import type { CgroupPort } from '../kernel/cgroup/port.js';
import { type CgroupStatsPort, openCgroupStats } from '../kernel/cgroup/stats.js';
import { completeConfig, type KubeletConfig, type KubeletOptions } from './config.js';
import { Killer } from './container/killer.js';
import { ContainerStarter } from './container/starter.js';
import { UserNamespaces } from './container/userNamespaces.js';
import { parseResolvConf, podDns } from './environment/dns.js';
import { type EventSink, noEvents } from './events.js';
import { EvictionManager } from './eviction/evictionManager.js';
import type { PressureCondition } from './eviction/signals.js';
import { Housekeeping } from './housekeeping.js';
import { ImageGC } from './imageGC.js';
import { ImagePuller } from './images.js';
import { Janitors } from './janitors.js';
import { requireKernelDefaults } from './kernelDefaults.js';
import { MirrorPods } from './mirrorPods.js';
import { type MachineFacts, reachableAddresses, readMachine } from './node/machine.js';
import { NodeManager } from './node/nodeManager.js';
import { allocatableOf, nodeLabels, nodeOf } from './node/nodeStatus.js';
import { Pleg, type PlegDiffer } from './pleg.js';
import { PodManager } from './podManager.js';
import { type Attached, PodSandboxes } from './podSandbox.js';
import { PodSyncer } from './podSync.js';
import { PodWorkers } from './podWorkers.js';
import type { ContainerEnvironment, Pod, PodVolumes, ProbeKind, Probes } from './ports.js';
import { PullRecords } from './pullRecords.js';
import { podCredentials } from './pullSecrets.js';
import { ResizeActuator } from './resize/actuate.js';
import { Allocations } from './resize/allocations.js';
import { Resizes } from './resize/resizes.js';
import { fetchPod } from './runtime/fetchPod.js';
import { PodCache } from './runtime/podCache.js';
import { livingContainers } from './runtime/runtimePod.js';
import { RuntimeClasses } from './runtimeClasses.js';
import { RuntimeState } from './runtimeState.js';
import { type LogindPlace, SYSTEM_LOGIND } from './shutdown/logind.js';
import { shutdownPeriods } from './shutdown/plan.js';
import { ShutdownManager } from './shutdown/shutdownManager.js';
import { followApiserver, followNode } from './sources/apiserver.js';
import { ManifestDirectory } from './sources/manifestDirectory.js';
import { ManifestUrl } from './sources/manifestUrl.js';
import { PodConfig } from './sources/podConfig.js';
import { StatsCollector } from './stats/collector.js';
import { KubeletMetrics } from './stats/kubeletMetrics.js';
import { cadvisorMetrics, resourceMetrics } from './stats/metrics.js';
import { summaryOf } from './stats/summary.js';
import { StatusManager } from './status/statusManager.js';
import { SyncLoop } from './syncLoop.js';
import { type ImageProblem, imageVolumeProblem } from './volumes/imageVolume.js';

/** What the parts of a pod need from the kubelet around them. */
export interface PartSurroundings {
  readonly config: KubeletConfig;
  readonly hostIps: () => readonly string[];
  readonly allocatable: () => Readonly<Record<string, string>>;
  readonly node: () => { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly events: EventSink;
  /** A probe's result has changed. */
  readonly wake: (podUid: string) => void;
  readonly statusOf: (pod: Pod) => Pod['status'];
  /** What the runtime can do for the pod's RuntimeClass; undefined where it does not say. */
  readonly handlerOf: (pod: Pod) => RuntimeHandlerFeatures | undefined;
  /** Why the runtime cannot mount images. */
  readonly imageProblem: ImageProblem;
  /** A probe was run. */
  readonly probed: (
    pod: Pod,
    container: string,
    kind: ProbeKind,
    answer: { readonly outcome: string },
  ) => void;
}

export interface KubeletParts {
  readonly volumes: PodVolumes;
  readonly environment: ContainerEnvironment;
  readonly probes: Probes;
  /** A Secret of the API; undefined when there is none. */
  readonly secret: (pod: Pod, name: string) => Promise<V1Secret | undefined>;
  stop(): void;
}

export interface KubeletSurroundings {
  readonly config: KubeletOptions;
  /** Both absent when the kubelet runs alone, with static pods only. */
  readonly client?: Client | undefined;
  readonly informers?: Informers | undefined;
  readonly runtime: ContainerRuntime;
  readonly pleg: PlegDiffer;
  /** Absent where pods get no control groups of their own. */
  readonly cgroups?: CgroupPort | undefined;
  /** Absent where usage is not told. */
  readonly cgroupStats?: CgroupStatsPort | undefined;
  readonly events?: EventSink | undefined;
  readonly attached?: Attached | undefined;
  /** What others of this process tell on /metrics beside the kubelet. */
  readonly otherMetrics?: (() => Promise<string>) | undefined;
  /** The system's own if left out. */
  readonly logind?: LogindPlace;
  readonly log: Log;
  readonly parts: (around: PartSurroundings) => KubeletParts;
  readonly now?: () => number;
}

/** What the kubelet's HTTP server and its owner see. */
export interface RunningKubelet {
  readonly config: KubeletConfig;
  /** The pods of this node with their newest status. */
  pods(): readonly Pod[];
  pod(namespace: string, name: string): Pod | undefined;
  podByUid(uid: string): Pod | undefined;
  node(): Stored<V1Node> | undefined;
  allocatable(): Readonly<Record<string, string>>;
  readonly stats: KubeletStats;
  /** Undefined while healthy. */
  unhealthy(): string | undefined;
  /** Stops the loops; containers go on running. */
  stop(): Promise<void>;
}

/** The bodies of the statistics' paths. */
export interface KubeletStats {
  summary(): Promise<object>;
  resource(): Promise<string>;
  cadvisor(): Promise<string>;
  probes(): string;
  own(): Promise<string>;
}

export async function runKubelet(around: KubeletSurroundings): Promise<RunningKubelet> {
  const config = completeConfig(around.config);
  const { client, informers, runtime: cri, log, cgroups, events = noEvents, now = Date.now } = around;
  const { runtime } = cri;
  if (config.protectKernelDefaults) await requireKernelDefaults();
  await mkdir(config.rootDir, { recursive: true, mode: 0o750 });
  await mkdir(config.podLogsDir, { recursive: true, mode: 0o755 });
  const machine = await readMachine(config.rootDir);
  const hostIps = () => (config.nodeIps.length > 0 ? config.nodeIps : reachableAddresses());
  const allocatable = () => allocatableOf(config, machine);
  const ticks = () => performance.now();

  const pods = new PodManager();
  const cache = new PodCache((uid) => fetchPod(runtime, uid, config.podLogsDir), ticks);
  const metrics = new KubeletMetrics({ nodeName: config.nodeName, runtimePods: () => cache.pods() });
  // Part of the machine, so that those who run a kubelet need not open it.
  const cgroupStats = around.cgroupStats ?? (cgroups && (await openCgroupStats()));
  const collector = new StatsCollector({ config, cri, cache, pods, now, cgroupStats, log });
  const allocations = new Allocations();
  const wake = (uid: string) => workers.wake(uid);
  const statuses = new StatusManager({
    ...{ client, log },
    apiPod: (pod) => pods.apiPod(pod),
    isFinished: (uid) => workers.isFinished(uid),
  });
  const named = () => ({
    name: config.nodeName,
    labels: { ...nodeLabels(config, machine), ...node?.current()?.metadata.labels },
  });
  statuses.on((_, status, previous) => metrics.told(status, previous));
  const classes = new RuntimeClasses(informers);
  const handlerOf = (pod: Pod) => {
    const handler = classes.handlerOf(pod);
    return state.facts().handlers.find((one) => one.name === handler)?.features;
  };
  const parts = around.parts({
    config,
    hostIps,
    allocatable,
    node: named,
    events,
    wake,
    statusOf: (pod) => statuses.get(pod),
    handlerOf,
    imageProblem: (use) => imageVolumeProblem(state.facts().version, use),
    probed: (pod, container, kind, { outcome }) => metrics.probed(pod, container, kind, outcome),
  });
  const state = new RuntimeState(cri, log, () => {
    node?.changed();
    for (const { metadata } of pods.all()) wake(metadata.uid);
  });
  const pullRecords = await PullRecords.open({ config, log, now });
  const images = new ImagePuller({
    ...{ images: cri.images, events, now, records: pullRecords },
    maxParallel: config.serializeImagePulls ? 1 : config.maxParallelImagePulls,
  });
  const limits = () => ({
    ...{ memoryCapacity: machine.memoryBytes, cpuCFSQuota: config.cpuCFSQuota },
    hugePageSizes: machine.hugePages.map(({ pageBytes }) => pageBytes),
  });
  const killer = new Killer({ runtime, events, log, now });
  const starter = new ContainerStarter({
    ...{ runtime, images, environment: parts.environment, events, killer, now },
    machine: limits,
    maxBackOffMs: config.maxContainerBackOffMs,
    seccompRoot: path.join(config.rootDir, 'seccomp'),
    seccompDefault: config.seccompDefault,
  });
  const sandboxes = new PodSandboxes({
    ...{ config, runtime, cgroups, machine: limits, classes, events, hostIps },
    users: new UserNamespaces({ ...config, podsOnDisk: () => parts.volumes.podsOnDisk() }),
    canMapUsers: (pod) => handlerOf(pod)?.userNamespaces === true,
    dnsOf: (pod) => dnsOf(pod, config, events),
    attached: around.attached,
  });
  const syncer = new PodSyncer({
    ...{ config, runtime, cache, statuses, events, log, now, ticks, hostIps },
    ...{ sandboxes, starter, killer, volumes: parts.volumes, probes: parts.probes },
    resizes: new Resizes({
      ...{ statuses, events, pending: (uid) => allocations.pending(uid) },
      actuator: new ResizeActuator({
        ...{ config, runtime, cgroups, machine: limits },
        memoryOf: async (group) => {
          const [used] = (await cgroupStats?.read([{ group }])) ?? [];
          return used?.memoryBytes && used.memoryBytes - (used.inactiveFileBytes ?? 0);
        },
      }),
    }),
    networkProblem: () => state.networkProblem(),
    pullSecretsOf: (pod, { image = '' }) => podCredentials(pod, image, parts.secret),
  });
  const workers = new PodWorkers(syncer, { log, resyncMs: config.syncFrequencyMs });
  const pleg = new Pleg({
    ...{ runtime, cache, log, differ: around.pleg, now: ticks },
    periodMs: config.plegRelistPeriodMs,
    changed: wake,
    isBusy: (uid) => workers.isBusy(uid),
    relisted: (startedMs, endedMs, succeeded) => metrics.relisted(startedMs, endedMs, succeeded),
  });
  const node =
    client &&
    makeNodeManager({
      ...{ client, config, machine, log, now, events, state, pleg, hostIps },
      hasPressure: (condition) => eviction.has(condition),
      shutdownProblem: () => shutdown.problem(),
    });
  const mirrors = client && new MirrorPods({ client, pods, log, node: () => node?.current() });
  const loop = new SyncLoop({
    ...{ pods, workers, statuses, allocations, mirrors, events, log },
    node: () => ({
      ...named(),
      taints: node?.current()?.spec.taints ?? config.registerWithTaints,
      allocatable: allocatable(),
      pressures: (['MemoryPressure', 'DiskPressure', 'PIDPressure'] as const).filter((one) =>
        eviction.has(one),
      ),
      isShuttingDown: shutdown.problem() !== undefined,
      allowedUnsafeSysctls: config.allowedUnsafeSysctls,
      hasAppArmor: machine.hasAppArmor,
      hasStrictGroups: state.facts().features?.supplementalGroupsPolicy === true,
    }),
    now,
    housekeeping: new Housekeeping({
      ...{ config, runtime, cgroups, volumes: parts.volumes, cache, pods, workers, statuses, log },
    }),
    periodMs: config.housekeepingPeriodMs,
    sourcesReady: () => source.allReady(),
    readNode: async () => node?.readNow(),
    isAlive: (uid) => livingContainers(cache.get(uid)).length > 0,
  });
  const imageGC = new ImageGC({
    ...{ cri, config, log, now, pullRecords },
    runtimePods: () => cache.pods(),
    imageFs: async () => (await collector.sample()).imageFs,
    failed: (message) => tellNode('Warning', 'FreeDiskSpaceFailed', message),
  });
  const tellNode = (type: 'Normal' | 'Warning', reason: string, message: string) => {
    const about = node?.current();
    if (about !== undefined) events.event({ ...about, kind: 'Node' }, { type, reason, message });
  };
  const unended = {
    pods: () => pods.all().filter((pod) => workers.phaseOf(pod.metadata.uid) === 'sync'),
    isGone: (uid: string) => !workers.knows(uid) || workers.isFinished(uid),
  };
  const shutdown = new ShutdownManager({
    ...{ ...unended, workers, tellNode, log },
    periods: shutdownPeriods(config),
    logind: around.logind ?? SYSTEM_LOGIND,
    changed: () => node?.changed(),
  });
  const eviction = new EvictionManager({
    ...{ ...unended, config, workers, events, log, now },
    sample: () => collector.sample(),
    sampleAnew: () => collector.sampleAnew(),
    reclaimDisk: () => imageGC.removeUnused(),
    pressureChanged: () => node?.changed(),
    evicted: (signal) => metrics.evicted(signal),
    tellNode,
  });
  const janitors = new Janitors({
    ...{ config, runtime, cache, log, now, imageGC, eviction, tellNode },
    forget: () => metrics.forgetPods((uid) => pods.get(uid) === undefined),
  });
  const source = new PodConfig(
    [
      ...(informers === undefined ? [] : ['api' as const]),
      ...(config.staticPodPath === '' ? [] : ['file' as const]),
      ...(config.staticPodURL === '' ? [] : ['http' as const]),
    ],
    (update) => loop.take(update),
  );
  const manifests =
    config.staticPodPath === ''
      ? undefined
      : new ManifestDirectory({
          ...{ nodeName: config.nodeName, now, log, directory: config.staticPodPath },
          checkFrequencyMs: config.fileCheckFrequencyMs,
          changed: (found) => source.set('file', found),
        });

  const url =
    config.staticPodURL === ''
      ? undefined
      : new ManifestUrl({
          ...{ nodeName: config.nodeName, now, log, url: config.staticPodURL },
          checkFrequencyMs: config.httpCheckFrequencyMs,
          changed: (found) => source.set('http', found),
        });

  // The node shows itself at once; pods wait for the first relist, which tells what already runs.
  node?.start();
  const unfollow: (() => void)[] = [];
  const started = Promise.all([state.start(), pleg.start()]).then(async () => {
    await pullRecords.settle(cri.images);
    if (informers !== undefined) {
      // Before the pods: labels and taints that the scheduler goes by are known here as soon as there.
      unfollow.push(followNode(informers, config.nodeName, (found) => node?.heard(found)));
      unfollow.push(followApiserver(informers, config.nodeName, source));
    }
    await manifests?.start();
    void url?.start();
    loop.start();
    janitors.start();
    shutdown.start();
    node?.changed();
  });
  started.catch((error: unknown) => log.error('the kubelet did not start', { error: String(error) }));

  const shown = (pod: Pod): Pod => ({ ...pod, status: statuses.get(pod) });
  return {
    config,
    pods: () => pods.all().map(shown),
    pod: (namespace, name) => {
      const found = pods.byName(namespace, name);
      return found && shown(found);
    },
    podByUid: (uid) => {
      const found = pods.get(uid);
      return found && shown(found);
    },
    node: () => node?.current(),
    allocatable,
    stats: {
      summary: async () => summaryOf(config.nodeName, await collector.sample()),
      resource: async () => resourceMetrics(await collector.sample()),
      cadvisor: async () => cadvisorMetrics(await collector.sample()),
      probes: () => metrics.probesText(),
      own: async () => `${metrics.text()}${(await around.otherMetrics?.()) ?? ''}`,
    },
    unhealthy: () => pleg.unhealthy(),
    async stop() {
      for (const stop of unfollow) stop();
      manifests?.stop();
      url?.stop();
      loop.stop();
      shutdown.stop();
      await janitors.stop();
      state.stop();
      workers.stop();
      parts.stop();
      statuses.stop();
      await Promise.all([pleg.stop(), node?.stop()]);
    },
  };
}

function makeNodeManager(options: {
  readonly client: Client;
  readonly config: KubeletConfig;
  readonly machine: MachineFacts;
  readonly log: Log;
  readonly now: () => number;
  readonly events: EventSink;
  readonly state: RuntimeState;
  readonly pleg: Pleg;
  readonly hostIps: () => readonly string[];
  readonly hasPressure: (condition: PressureCondition) => boolean;
  readonly shutdownProblem: () => string | undefined;
}): NodeManager {
  const { client, config, machine, log, now, events, state, pleg } = options;
  const { hostIps, hasPressure, shutdownProblem } = options;
  return new NodeManager({
    ...{ client, config, log, now, events },
    describe: async (previous = []) =>
      nodeOf({
        ...{ config, machine, previous },
        hasPressure,
        runtime: state.facts(),
        plegProblem: pleg.unhealthy(),
        shutdownProblem: shutdownProblem(),
        addresses: hostIps(),
        now: now(),
      }),
  });
}

async function dnsOf(pod: Pod, config: KubeletConfig, events: EventSink) {
  const text = config.resolvConf === '' ? '' : await readFile(config.resolvConf, 'utf8').catch(() => ''); // none: no servers
  const cluster = { servers: config.clusterDNS, domain: config.clusterDomain };
  const { settings, warnings } = podDns(pod, cluster, parseResolvConf(text));
  for (const { reason, message } of warnings) events.event(pod, { type: 'Warning', reason, message });
  return settings;
}
