// The body of /stats/summary, in the form of Kubernetes' stats v1alpha1. Pure.
// Guarantees: numbers that are not known are left out; names and units are those that `kubectl top`'s sources read.
import type { CgroupStats } from '../../kernel/cgroup/stats.js';
import { apiTime } from '../status/time.js';
import {
  type ContainerSample,
  ephemeralBytes,
  type FilesystemSample,
  type NodeSample,
  type PodSample,
  type Usage,
  workingSet,
} from './sample.js';

export function summaryOf(nodeName: string, sample: NodeSample): object {
  const time = apiTime(sample.atMs);
  const set = workingSet(sample.usage);
  return {
    node: {
      nodeName,
      startTime: apiTime(sample.bootedAtMs),
      systemContainers: sample.systemGroups.map(({ name, startedAtMs, usage }) => ({
        name,
        startTime: apiTime(startedAtMs),
        cpu: cpu(time, usage),
        memory: memory(time, usage),
      })),
      cpu: cpu(time, sample.usage),
      memory: {
        ...memory(time, sample.usage),
        ...(set === undefined ? {} : { availableBytes: Math.max(0, sample.memoryTotalBytes - set) }),
      },
      network: network(time, sample.network),
      fs: filesystem(time, sample.fs),
      // Layers and images are on one file system, whatever the runtime.
      runtime: { imageFs: filesystem(time, sample.imageFs), containerFs: filesystem(time, sample.imageFs) },
      rlimit: { time, maxpid: sample.pidsMax, curproc: sample.pidsUsed },
    },
    pods: sample.pods.map((pod) => podSummary(time, pod, sample)),
  };
}

function podSummary(time: string, pod: PodSample, node: NodeSample): object {
  const { uid, name, namespace } = pod;
  const disk = diskOf(time, node);
  return {
    podRef: { name, namespace, uid },
    startTime: apiTime(pod.startedAtMs),
    containers: pod.containers.map((container) => containerSummary(time, container, node)),
    cpu: cpu(time, pod.usage),
    memory: memory(time, pod.usage),
    ...(pod.network === undefined ? {} : { network: network(time, pod.network) }),
    volume: pod.volumes.map((volume) => ({ ...disk, ...volume })),
    'ephemeral-storage': { ...disk, usedBytes: ephemeralBytes(pod) },
    process_stats: { process_count: pod.usage.processes ?? 0 },
  };
}

function containerSummary(time: string, container: ContainerSample, node: NodeSample): object {
  const { name, startedAtMs, usage, rootfs, logBytes } = container;
  return {
    name,
    startTime: apiTime(startedAtMs),
    cpu: cpu(time, usage),
    memory: memory(time, usage),
    ...(rootfs === undefined ? {} : { rootfs: { ...filesystem(time, node.imageFs), ...rootfs } }),
    ...(logBytes === undefined ? {} : { logs: { ...diskOf(time, node), usedBytes: logBytes } }),
  };
}

/** The disk below something whose own use is told beside. */
function diskOf(time: string, { fs }: NodeSample) {
  const { availableBytes, capacityBytes, inodes, inodesFree } = fs;
  return { time, availableBytes, capacityBytes, inodesFree, inodes };
}

const cpu = (time: string, { cpuNanos, cpuNanoCores }: Usage) => ({
  time,
  ...(cpuNanoCores === undefined ? {} : { usageNanoCores: cpuNanoCores }),
  ...(cpuNanos === undefined ? {} : { usageCoreNanoSeconds: cpuNanos }),
});

function memory(time: string, usage: Usage) {
  const fields = {
    usageBytes: usage.memoryBytes,
    workingSetBytes: workingSet(usage),
    rssBytes: usage.rssBytes,
    pageFaults: usage.pageFaults,
    majorPageFaults: usage.majorPageFaults,
    availableBytes:
      usage.memoryLimitBytes === undefined
        ? undefined
        : Math.max(0, usage.memoryLimitBytes - (workingSet(usage) ?? 0)),
  };
  return { time, ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) };
}

function network(time: string, { rxBytes, rxErrors, txBytes, txErrors }: CgroupStats) {
  const own = { rxBytes, rxErrors, txBytes, txErrors };
  return { time, name: 'eth0', ...own, interfaces: [{ name: 'eth0', ...own }] };
}

function filesystem(time: string, fs: FilesystemSample) {
  return { time, ...fs, inodesUsed: Math.max(0, fs.inodes - fs.inodesFree) };
}
