// Samples of a node whose runtime is given: what of its answers goes where.
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import type { V1PodSpec } from '../../../../src/api/gen/types.js';
import { silentLog } from '../../../../src/api/log.js';
import type { ContainerRuntime } from '../../../../src/cri/runtime.js';
import { FakeTrees } from '../../../../src/kernel/tree/fake.js';
import { completeConfig } from '../../../../src/kubelet/config.js';
import type { PodManager } from '../../../../src/kubelet/podManager.js';
import { PodCache } from '../../../../src/kubelet/runtime/podCache.js';
import { StatsCollector } from '../../../../src/kubelet/stats/collector.js';
import { volumeDir } from '../../../../src/kubelet/volumes/files.js';
import { podOf, run, runtimePod } from '../support.js';

async function sceneOf(spec: Partial<V1PodSpec>, stats: readonly object[], trees: FakeTrees) {
  const pod = podOf(spec);
  const started = run(pod, 'web', 'running');
  const cache = new PodCache(async () => runtimePod([started]), Date.now);
  await cache.refresh(pod.metadata.uid);
  const warnings: string[] = [];
  const collector = new StatsCollector({
    config: completeConfig({ nodeName: 'node', rootDir: tmpdir(), podLogsDir: tmpdir() }),
    cri: {
      runtime: { listContainerStats: async () => stats.map((one) => ({ id: started.id, ...one })) },
      images: { imageFsInfo: async () => [] },
    } as unknown as ContainerRuntime,
    cache,
    pods: { all: () => [pod] } as unknown as PodManager,
    cgroupStats: undefined,
    now: Date.now,
    log: { ...silentLog, warn: (message: string) => warnings.push(message) },
    trees,
  });
  return { pod, collector, warnings };
}

test('of what the runtime measures a container, only the size of its layer is taken', async () => {
  const stats = { cpuCoreNanoSeconds: 7, workingSetBytes: 8, usedBytes: 9, inodesUsed: 2 };
  const { collector } = await sceneOf({}, [stats], new FakeTrees());
  const { pods } = await collector.sample();
  expect(pods[0]?.containers[0]?.rootfs).toEqual({ usedBytes: 9, inodesUsed: 2 });
});

test('an emptyDir on disk is measured, and what could not be read is said', async () => {
  const trees = new FakeTrees();
  const volumes = [
    { name: 'disk', emptyDir: {} },
    { name: 'memory', emptyDir: { medium: 'Memory' } },
  ];
  const { pod, collector, warnings } = await sceneOf({ volumes }, [], trees);
  trees.put(volumeDir(tmpdir(), pod.metadata.uid, 'empty-dir', 'disk'), {
    kind: 'directory',
    usedBytes: 60e6,
  });
  const use = async () => (await collector.sampleAnew()).pods[0]?.volumes;
  expect(await use()).toEqual([{ name: 'disk', usedBytes: 60e6, inodesUsed: 1 }]);
  expect(warnings).toEqual([]);
  trees.measure = async () => ({ usedBytes: 5, inodesUsed: 1, unread: 2 });
  expect(await use()).toEqual([{ name: 'disk', usedBytes: 5, inodesUsed: 1 }]);
  expect(warnings).toEqual(['an emptyDir holds more than is counted']);
  trees.measure = async () => Promise.reject(new Error('no'));
  expect(await use()).toEqual([]);
  expect(warnings[1]).toBe('an emptyDir cannot be measured');
});
