// Samples for the tests of statistics and eviction, made short.
import type { NodeSample, PodSample } from '../../../../src/kubelet/stats/sample.js';

export const MIB = 1024 * 1024;

export function podSample(uid: string, more: Partial<PodSample> = {}): PodSample {
  return {
    uid,
    name: uid,
    namespace: 'default',
    startedAtMs: 1_000,
    group: `/kubepods/pod${uid}`,
    usage: {},
    network: undefined,
    containers: [],
    volumes: [],
    ...more,
  };
}

export function nodeSample(pods: readonly PodSample[] = [], more: Partial<NodeSample> = {}): NodeSample {
  const fs = { availableBytes: 600, capacityBytes: 1_000, usedBytes: 400, inodes: 100, inodesFree: 90 };
  return {
    atMs: 60_000,
    bootedAtMs: 0,
    cpus: 2,
    usage: {},
    memoryTotalBytes: 1_000 * MIB,
    network: {},
    fs,
    imageFs: fs,
    pidsUsed: 10,
    pidsMax: 1_000,
    pods,
    systemGroups: [],
    ...more,
  };
}
