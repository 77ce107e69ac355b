// The sizes of emptyDirs on a real disk, from the walk to the eviction.
// Guarantees: what a pod calls its files changes nothing about what it may hold.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import type { ContainerRuntime } from '../../../src/cri/runtime.js';
import { completeConfig } from '../../../src/kubelet/config.js';
import { EvictionManager } from '../../../src/kubelet/eviction/evictionManager.js';
import type { PodManager } from '../../../src/kubelet/podManager.js';
import type { Pod } from '../../../src/kubelet/ports.js';
import { PodCache } from '../../../src/kubelet/runtime/podCache.js';
import { StatsCollector } from '../../../src/kubelet/stats/collector.js';
import { volumeDir } from '../../../src/kubelet/volumes/files.js';
import { container, podOf, run, runtimePod } from '../../unit/kubelet/support.js';

let rootDir = '';
beforeEach(async () => {
  rootDir = await mkdtemp(path.join(tmpdir(), 'trellis-sizes-'));
});
afterEach(() => rm(rootDir, { recursive: true }));

const MIB = 1024 * 1024;

/** What one round of evictions says of each pod that it ends. */
async function evictions(pods: readonly Pod[]): Promise<Record<string, string>> {
  const config = completeConfig({ nodeName: 'n', rootDir, podLogsDir: rootDir, evictionHard: {} });
  const started = new Map(pods.map((pod) => [pod.metadata.uid, runtimePod([run(pod, 'main', 'running')])]));
  const cache = new PodCache(async (uid) => started.get(uid) ?? runtimePod([]), Date.now);
  for (const { metadata } of pods) await cache.refresh(metadata.uid);
  const collector = new StatsCollector({
    config,
    cache,
    cgroupStats: undefined,
    now: Date.now,
    log: silentLog,
    cri: {
      runtime: { listContainerStats: async () => [] },
      images: { imageFsInfo: async () => [] },
    } as unknown as ContainerRuntime,
    pods: { all: () => pods } as unknown as PodManager,
  });
  const ended: Record<string, string> = {};
  const manager = new EvictionManager({
    config,
    now: Date.now,
    log: silentLog,
    isGone: () => true,
    pods: () => pods,
    sample: () => collector.sample(),
    sampleAnew: () => collector.sampleAnew(),
    workers: {
      terminate: (uid, { failure } = {}) => {
        ended[uid] = `${failure?.reason}: ${failure?.message}`;
      },
    },
    events: { event: () => undefined },
    reclaimDisk: async () => undefined,
    pressureChanged: () => undefined,
    evicted: () => undefined,
    tellNode: () => undefined,
  });
  await manager.round();
  return ended;
}

test.each<[string, readonly number[]]>([
  ['plain', [0x61]],
  ['not UTF-8', [0xff]],
  ['half a character', [0x61, 0xe2, 0x82]],
])('a pod is evicted for a file that is too large and whose name is %s, another is not', async (_, name) => {
  const podWith = async (uid: string, size: number) => {
    const dir = volumeDir(rootDir, uid, 'empty-dir', 'data');
    await mkdir(path.join(dir, 'below'), { recursive: true });
    const file = Buffer.concat([Buffer.from(`${dir}/below/`), Buffer.from(name)]);
    await writeFile(file, Buffer.alloc(size, 1));
    const volumes = [{ name: 'data', emptyDir: { sizeLimit: '2Mi' } }];
    return podOf({ containers: [container('main')], volumes }, { uid, name: uid });
  };
  expect(await evictions([await podWith('large', 3 * MIB), await podWith('small', MIB)])).toEqual({
    large: 'Evicted: Usage of EmptyDir volume "data" exceeds the limit "2Mi". ',
  });
});
