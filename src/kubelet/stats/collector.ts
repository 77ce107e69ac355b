// Takes samples: control groups in one native batch, the machine from /proc, disks now and then.
// Guarantees: callers at the same moment share one sample; what cannot be read is left out and never fails the rest.
import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import type { ContainerRuntime } from '../../cri/runtime.js';
import type { CgroupStats, CgroupStatsPort } from '../../kernel/cgroup/stats.js';
import { openTrees } from '../../kernel/tree/adapter.js';
import type { TreePort } from '../../kernel/tree/port.js';
import type { KubeletConfig } from '../config.js';
import { podLogDirectory } from '../container/sandboxConfig.js';
import { inParallel } from '../pleg.js';
import type { PodManager } from '../podManager.js';
import type { Pod } from '../ports.js';
import { kubepods, podCgroup } from '../resources.js';
import type { PodCache } from '../runtime/podCache.js';
import { nanosToMs, type RuntimePod, readySandbox, runningContainers } from '../runtime/runtimePod.js';
import { volumeDir } from '../volumes/files.js';
import type { ContainerSample, FilesystemSample, GroupSample, NodeSample, PodSample } from './sample.js';
import { withRate } from './sample.js';

interface CollectorOptions {
  readonly config: KubeletConfig;
  readonly cri: ContainerRuntime;
  readonly cache: PodCache;
  readonly pods: PodManager;
  readonly cgroupStats: CgroupStatsPort | undefined;
  readonly now: () => number;
  readonly log: Log;
  /** The native core's if left out. */
  readonly trees?: TreePort;
}

/** Younger samples serve again; rates are taken over at least this long. */
const FRESH_MS = 1_000;
const DISK_PERIOD_MS = 60_000;
const TICK_NANOS = 1e7;

interface Disk {
  readonly rootfs: ReadonlyMap<string, { readonly usedBytes: number; readonly inodesUsed: number }>;
  readonly volumes: ReadonlyMap<string, PodSample['volumes']>;
  readonly logs: ReadonlyMap<string, number>;
  readonly imageMount: string;
}

export class StatsCollector {
  readonly #options: CollectorOptions;

  #last: NodeSample | undefined;
  #taking: Promise<NodeSample> | undefined;
  #disk: Disk = { rootfs: new Map(), volumes: new Map(), logs: new Map(), imageMount: '' };
  #diskAt = Number.NEGATIVE_INFINITY;

  readonly #trees: TreePort;

  constructor(options: CollectorOptions) {
    this.#options = options;

    this.#trees = options.trees ?? openTrees();
  }

  sample(): Promise<NodeSample> {
    const { now } = this.#options;
    if (this.#last !== undefined && now() - this.#last.atMs < FRESH_MS) return Promise.resolve(this.#last);
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  /** A sample that begins now, disks included: for whoever has just freed some. */
  async sampleAnew(): Promise<NodeSample> {
    await this.#taking?.catch(() => {}); // who asked for that one hears of its failure
    this.#diskAt = Number.NEGATIVE_INFINITY;
    this.#last = undefined;
    return this.sample();
  }

  async #take(): Promise<NodeSample> {
    const { now, config } = this.#options;
    if (now() - this.#diskAt >= DISK_PERIOD_MS) {
      this.#diskAt = now();
      this.#disk = await this.#lookAtDisks();
    }
    const { imageMount } = this.#disk;
    const [pods, systemGroups, machine, fs, imageFs] = await Promise.all([
      this.#samplePods(),
      this.#sampleSystem(),
      sampleMachine(),
      filesystem(config.rootDir),
      filesystem(imageMount === '' ? config.rootDir : imageMount).catch(() => filesystem(config.rootDir)),
    ]);
    const atMs = now();
    const elapsedMs = atMs - (this.#last?.atMs ?? atMs);
    const rated = this.#withRates(pods, elapsedMs);
    const usage = withRate(machine.usage, this.#last?.usage, elapsedMs);
    this.#last = {
      atMs,
      bootedAtMs: atMs - os.uptime() * 1000,
      ...machine,
      usage,
      fs,
      imageFs,
      pods: rated,
      systemGroups: systemGroups.map((group) => {
        const before = this.#last?.systemGroups.find(({ name }) => name === group.name);
        return { ...group, usage: withRate(group.usage, before?.usage, elapsedMs) };
      }),
    };
    return this.#last;
  }

  /** By the names that Kubernetes has for them. What the runtime uses is not known here: it is not ours. */
  async #sampleSystem(): Promise<readonly GroupSample[]> {
    const { config, cgroupStats } = this.#options;
    const [pods] = (await cgroupStats?.read([{ group: kubepods(config.cgroupRoot) }])) ?? [];
    const { user, system } = process.cpuUsage();
    const { rss } = process.memoryUsage();
    const own = { cpuNanos: (user + system) * 1000, memoryBytes: rss, rssBytes: rss };
    return [
      { name: 'kubelet', startedAtMs: performance.timeOrigin, usage: own },
      ...(pods === undefined ? [] : [{ name: 'pods', startedAtMs: performance.timeOrigin, usage: pods }]),
    ];
  }

  #withRates(pods: readonly PodSample[], elapsedMs: number): readonly PodSample[] {
    const before = new Map(this.#last?.pods.map((pod) => [pod.uid, pod]));
    return pods.map((pod) => {
      const old = before.get(pod.uid);
      return {
        ...pod,
        usage: withRate(pod.usage, old?.usage, elapsedMs),
        containers: pod.containers.map((one) => ({
          ...one,
          usage: withRate(one.usage, old?.containers.find(({ id }) => id === one.id)?.usage, elapsedMs),
        })),
      };
    });
  }

  /** Every group of every running pod in one crossing: the pod's, its sandbox's with the network, its containers'. */
  async #samplePods(): Promise<readonly PodSample[]> {
    const { pods, cache, config, cgroupStats } = this.#options;
    const running = pods
      .all()
      .map((pod) => ({ pod, runtime: cache.get(pod.metadata.uid), group: groupOf(config, pod) }))
      .filter(({ runtime }) => readySandbox(runtime) !== undefined);
    const requests = running.flatMap(({ pod, runtime, group }) => [
      { group },
      { group: `${group}/${readySandbox(runtime)?.id ?? ''}`, network: pod.spec.hostNetwork !== true },
      ...runningContainers(runtime).map(({ id }) => ({ group: `${group}/${id}` })),
    ]);
    const stats = (await cgroupStats?.read(requests)) ?? [];
    let next = 0;
    const take = (): CgroupStats => stats[next++] ?? {};
    return running.map(({ pod, runtime, group }) => {
      const [usage, sandbox] = [take(), take()];
      const containers = runningContainers(runtime).map(
        (run): ContainerSample => ({
          name: run.metadata.name,
          id: run.id,
          image: run.image.image,
          startedAtMs: nanosToMs(run.startedAt),
          usage: take(),
          rootfs: this.#disk.rootfs.get(run.id),
          logBytes: this.#disk.logs.get(run.id),
        }),
      );
      const { uid, name, namespace = 'default' } = pod.metadata;
      const network = sandbox.rxBytes === undefined ? undefined : sandbox;
      const startedAtMs = nanosToMs(readySandbox(runtime)?.createdAt ?? 0n);
      const volumes = this.#disk.volumes.get(uid) ?? [];
      return { uid, name, namespace, startedAtMs, group, usage, network, containers, volumes };
    });
  }

  async #lookAtDisks(): Promise<Disk> {
    const { cri, pods, cache, config } = this.#options;
    const [layers, info] = await Promise.all([
      cri.runtime.listContainerStats().catch(() => []), // a runtime may be away: its numbers are missing then
      cri.images.imageFsInfo().catch(() => []),
    ]);
    const volumes = new Map<string, PodSample['volumes']>();
    const logs = new Map<string, number>();
    await inParallel(pods.all(), 2, async (pod) => {
      volumes.set(pod.metadata.uid, await this.#emptyDirs(pod));
      for (const [id, size] of await logSizes(config, pod, cache.get(pod.metadata.uid))) logs.set(id, size);
    });
    return {
      rootfs: new Map(layers.map(({ id, usedBytes, inodesUsed }) => [id, { usedBytes, inodesUsed }])),
      volumes,
      logs,
      imageMount: info[0]?.mountpoint ?? '',
    };
  }

  /** Of those on disk: one in memory counts as its pod's memory, and huge pages are counted by the kernel. */
  async #emptyDirs({ metadata, spec }: Pod): Promise<PodSample['volumes']> {
    const { config, log } = this.#options;
    const found: PodSample['volumes'][number][] = [];
    for (const { name, emptyDir } of spec.volumes ?? []) {
      if (emptyDir === undefined || (emptyDir.medium ?? '') !== '') continue;
      const dir = volumeDir(config.rootDir, metadata.uid, 'empty-dir', name);
      try {
        const { usedBytes, inodesUsed, unread } = await this.#trees.measure(dir);
        if (unread > 0) log.warn('an emptyDir holds more than is counted', { dir, usedBytes, unread });
        found.push({ name, usedBytes, inodesUsed });
      } catch (error) {
        log.warn('an emptyDir cannot be measured', { dir, error: messageOf(error) });
      }
    }
    return found;
  }
}

const groupOf = (config: KubeletConfig, pod: Pod) => podCgroup(config.cgroupRoot, pod.spec, pod.metadata.uid);

async function logSizes(config: KubeletConfig, pod: Pod, runtime: RuntimePod): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const run of runningContainers(runtime)) {
    const dir = path.join(podLogDirectory(config.podLogsDir, pod), run.metadata.name);
    const names = await readdir(dir).catch(() => []); // not there yet
    const found = await Promise.all(names.map((name) => stat(path.join(dir, name)).catch(() => undefined)));
    sizes.set(
      run.id,
      found.reduce((sum, one) => sum + (one?.size ?? 0), 0),
    );
  }
  return sizes;
}

async function filesystem(at: string): Promise<FilesystemSample> {
  const { bavail, bfree, blocks, bsize, files, ffree } = await statfs(at);
  return {
    availableBytes: bavail * bsize,
    capacityBytes: blocks * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
  };
}

async function sampleMachine() {
  const read = (file: string) => readFile(file, 'utf8').catch(() => ''); // not on this machine
  const [stat_, meminfo, dev, loadavg, pidMax] = await Promise.all(
    ['/proc/stat', '/proc/meminfo', '/proc/net/dev', '/proc/loadavg', '/proc/sys/kernel/pid_max'].map(read),
  );
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(meminfo ?? '')?.[1] ?? 0) * 1024;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = (
    /^cpu +(.*)$/m.exec(stat_ ?? '')?.[1] ?? ''
  )
    .split(' ')
    .map(Number);
  const memoryTotalBytes = bytes('MemTotal');
  return {
    cpus: os.cpus().length,
    usage: {
      cpuNanos: (user + nice + system + irq + softirq + steal) * TICK_NANOS,
      memoryBytes: memoryTotalBytes - bytes('MemFree'),
      inactiveFileBytes: bytes('Inactive\\(file\\)'),
      rssBytes: bytes('AnonPages'),
    },
    memoryTotalBytes,
    network: nodeNetwork(dev ?? ''),
    pidsUsed: Number(/\d+\/(\d+)/.exec(loadavg ?? '')?.[1] ?? 0),
    pidsMax: Number(pidMax) || Number.POSITIVE_INFINITY,
  };
}

/** The node's own way out: devices of pods and the loopback are not part of it. */
export function nodeNetwork(dev: string): CgroupStats {
  const lines = dev.split('\n').flatMap((line) => {
    const [, name = '', numbers = ''] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    return /^(eth|en|wl|bond)/.test(name) ? [numbers.split(/\s+/).map(Number)] : [];
  });
  const sum = (place: number) => lines.reduce((total, numbers) => total + (numbers[place] ?? 0), 0);
  return { rxBytes: sum(0), rxErrors: sum(2), txBytes: sum(8), txErrors: sum(10) };
}
