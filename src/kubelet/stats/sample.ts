// What the node, its pods and its containers used at one moment, as numbers. Pure.
// Guarantees: what the machine did not tell is absent; rates come from two moments, never from one.
import type { CgroupStats } from '../../kernel/cgroup/stats.js';

export interface Usage extends CgroupStats {
  /** Processor time a second, from this moment and the one before. */
  readonly cpuNanoCores?: number;
}

export interface ContainerSample {
  readonly name: string;
  readonly id: string;
  readonly image: string;
  readonly startedAtMs: number;
  readonly usage: Usage;
  readonly rootfs: { readonly usedBytes: number; readonly inodesUsed: number } | undefined;
  readonly logBytes: number | undefined;
}

export interface PodSample {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly startedAtMs: number;
  readonly group: string;
  readonly usage: Usage;
  /** Of the pod's own network; absent for one in the node's. */
  readonly network: CgroupStats | undefined;
  readonly containers: readonly ContainerSample[];
  readonly volumes: readonly {
    readonly name: string;
    readonly usedBytes: number;
    readonly inodesUsed: number;
  }[];
}

export interface FilesystemSample {
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** Part of the node that is no pod: all pods together, the kubelet itself. */
export interface GroupSample {
  readonly name: string;
  readonly startedAtMs: number;
  readonly usage: Usage;
}

export interface NodeSample {
  readonly atMs: number;
  readonly bootedAtMs: number;
  readonly cpus: number;
  readonly usage: Usage;
  readonly memoryTotalBytes: number;
  readonly network: CgroupStats;
  readonly fs: FilesystemSample;
  readonly imageFs: FilesystemSample;
  readonly pidsUsed: number;
  readonly pidsMax: number;
  readonly pods: readonly PodSample[];
  readonly systemGroups: readonly GroupSample[];
}

/** Memory that would not be given back under pressure: usage without what only caches files. */
export function workingSet({ memoryBytes, inactiveFileBytes = 0 }: CgroupStats): number | undefined {
  return memoryBytes === undefined ? undefined : Math.max(0, memoryBytes - inactiveFileBytes);
}

/** `previous` is the same group's usage `elapsedMs` before. */
export function withRate(now: CgroupStats, previous: CgroupStats | undefined, elapsedMs: number): Usage {
  const [after, before] = [now.cpuNanos, previous?.cpuNanos];
  // A group that was made anew counts from zero again.
  if (after === undefined || before === undefined || after < before || elapsedMs <= 0) return now;
  return { ...now, cpuNanoCores: Math.round(((after - before) / elapsedMs) * 1000) };
}

/** Bytes that a pod holds on the node's disk: what its containers wrote, their logs, its emptyDirs. */
export function ephemeralBytes({ containers, volumes }: PodSample): number {
  const inContainers = containers.reduce(
    (sum, { rootfs, logBytes = 0 }) => sum + (rootfs?.usedBytes ?? 0) + logBytes,
    0,
  );
  return inContainers + volumes.reduce((sum, { usedBytes }) => sum + usedBytes, 0);
}
