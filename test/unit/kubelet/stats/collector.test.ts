// Samples of a node whose runtime is given: what of its answers goes where.
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import type { ContainerRuntime } from '../../../../src/cri/runtime.js';
import { completeConfig } from '../../../../src/kubelet/config.js';
import type { PodManager } from '../../../../src/kubelet/podManager.js';
import { PodCache } from '../../../../src/kubelet/runtime/podCache.js';
import { StatsCollector } from '../../../../src/kubelet/stats/collector.js';
import { podOf, run, runtimePod } from '../support.js';

test('of what the runtime measures a container, only the size of its layer is taken', async () => {
  const pod = podOf();
  const started = run(pod, 'web', 'running');
  const cache = new PodCache(async () => runtimePod([started]), Date.now);
  await cache.refresh(pod.metadata.uid);
  const stats = { id: started.id, cpuCoreNanoSeconds: 7, workingSetBytes: 8, usedBytes: 9, inodesUsed: 2 };
  const collector = new StatsCollector({
    config: completeConfig({ nodeName: 'node', rootDir: tmpdir(), podLogsDir: tmpdir() }),
    cri: {
      runtime: { listContainerStats: async () => [stats] },
      images: { imageFsInfo: async () => [] },
    } as unknown as ContainerRuntime,
    cache,
    pods: { all: () => [pod] } as unknown as PodManager,
    cgroupStats: undefined,
    now: Date.now,
  });
  const { pods } = await collector.sample();
  expect(pods[0]?.containers[0]?.rootfs).toEqual({ usedBytes: 9, inodesUsed: 2 });
});
