import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { completeConfig } from '../../../src/kubelet/config.js';
import { EvictionManager } from '../../../src/kubelet/eviction/evictionManager.js';
import { brokenLimit } from '../../../src/kubelet/eviction/limits.js';
import { rankPods } from '../../../src/kubelet/eviction/rank.js';
import type { Signal } from '../../../src/kubelet/eviction/signals.js';
import { conditionsAfter, crossedNow, due, thresholdsOf } from '../../../src/kubelet/eviction/thresholds.js';
import type { NodeSample, PodSample } from '../../../src/kubelet/stats/sample.js';
import { MIB, nodeSample, podSample } from './stats/samples.js';
import { container, podOf } from './support.js';

const config = (more: object = {}) =>
  completeConfig({ nodeName: 'n', evictionHard: { 'memory.available': '100Mi' }, ...more });
const seen = (signal: Signal, available: number, capacity: number) =>
  new Map([[signal, { available, capacity }]]);
const pod = (uid: string, memoryRequest?: string, more: object = {}) =>
  podOf(
    {
      containers: [
        container(
          'main',
          memoryRequest === undefined ? {} : { resources: { requests: { memory: memoryRequest } } },
        ),
      ],
      ...more,
    },
    { uid, name: uid },
  );
const using = (uid: string, bytes: number): PodSample => podSample(uid, { usage: { memoryBytes: bytes } });

describe('thresholds', () => {
  test('a quantity and a share of the capacity', () => {
    const thresholds = thresholdsOf(
      config({ evictionHard: { 'nodefs.available': '10%', 'memory.available': '1Ki' } }),
    );
    const both = new Map([...seen('nodefs.available', 9, 100), ...seen('memory.available', 1024, 4096)]);
    expect(crossedNow(thresholds, both, [], 0).map(({ threshold }) => threshold.signal)).toEqual([
      'nodefs.available',
    ]);
  });

  test('a soft one calls for an eviction only after its grace period without a break', () => {
    const thresholds = thresholdsOf(
      config({
        evictionHard: {},
        evictionSoft: { 'pid.available': '5%' },
        evictionSoftGrace: { 'pid.available': 60_000 },
      }),
    );
    const low = seen('pid.available', 4, 100);
    const first = crossedNow(thresholds, low, [], 1_000);
    expect(due(first, 1_000)).toEqual([]);
    const still = crossedNow(thresholds, low, first, 61_000);
    expect(due(still, 61_000)).toHaveLength(1);
    const ended = crossedNow(thresholds, seen('pid.available', 50, 100), still, 62_000);
    expect(due(crossedNow(thresholds, low, ended, 63_000), 63_000)).toEqual([]);
  });

  test('once crossed it ends only when its minimum is reclaimed as well', () => {
    const thresholds = thresholdsOf(config({ evictionMinimumReclaim: { 'memory.available': '50Mi' } }));
    const crossed = crossedNow(thresholds, seen('memory.available', 90 * MIB, 1000 * MIB), [], 0);
    expect(crossedNow(thresholds, seen('memory.available', 120 * MIB, 1000 * MIB), crossed, 1)).toHaveLength(
      1,
    );
    expect(crossedNow(thresholds, seen('memory.available', 150 * MIB, 1000 * MIB), crossed, 1)).toEqual([]);
    expect(crossedNow(thresholds, seen('memory.available', 120 * MIB, 1000 * MIB), [], 1)).toEqual([]);
  });

  test('a condition stays for the transition period after its last cause', () => {
    const crossed = crossedNow(thresholdsOf(config()), seen('memory.available', 0, 1), [], 0);
    const at = (nowMs: number, causes = crossed, before = new Map()) =>
      conditionsAfter(before, causes, { nowMs, transitionMs: 300_000 });
    const begun = at(0);
    expect([...begun.keys()]).toEqual(['MemoryPressure']);
    expect([...at(299_999, [], new Map(begun)).keys()]).toEqual(['MemoryPressure']);
    expect([...at(300_000, [], new Map(begun)).keys()]).toEqual([]);
  });
});

describe('the order of evictions', () => {
  test('who uses more than it asked for goes first, then the lower priority, then who is furthest over', () => {
    const candidates = [
      { pod: pod('within', '500Mi'), sample: using('within', 400 * MIB) },
      { pod: pod('over-important', '1Mi', { priority: 10 }), sample: using('over-important', 300 * MIB) },
      { pod: pod('over-little', '1Mi'), sample: using('over-little', 20 * MIB) },
      { pod: pod('over-much', '1Mi'), sample: using('over-much', 200 * MIB) },
      { pod: pod('critical', '1Mi', { priority: 2_000_000_000 }), sample: using('critical', 900 * MIB) },
      { pod: pod('unmeasured'), sample: undefined },
    ];
    expect(rankPods(candidates, 'memory.available').map((one) => one.pod.metadata.name)).toEqual([
      'over-much',
      'over-little',
      'over-important',
      'unmeasured',
      'within',
    ]);
  });

  test('processes cannot be asked for: priority, then usage', () => {
    const sample = (uid: string, processes: number) => podSample(uid, { usage: { processes } });
    const candidates = [
      { pod: pod('few', undefined, { priority: -1 }), sample: sample('few', 2) },
      { pod: pod('many'), sample: sample('many', 900) },
      { pod: pod('some'), sample: sample('some', 5) },
    ];
    expect(rankPods(candidates, 'pid.available').map((one) => one.pod.metadata.name)).toEqual([
      'few',
      'many',
      'some',
    ]);
  });
});

describe('limits of disk', () => {
  test('an emptyDir that is too large', () => {
    const big = podOf({ volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '1Mi' } }] });
    const volumes = [{ name: 'tmp', usedBytes: 2 * MIB, inodesUsed: 1 }];
    expect(brokenLimit(big, podSample('u1', { volumes }))).toBe(
      'Usage of EmptyDir volume "tmp" exceeds the limit "1Mi". ',
    );
    expect(brokenLimit(big, podSample('u1'))).toBeUndefined();
  });

  test('a container that writes too much', () => {
    const limits = { 'ephemeral-storage': '1Mi' };
    const writer = podOf({ containers: [container('main', { resources: { limits } })] });
    const containers = [
      {
        name: 'main',
        id: 'c',
        image: 'i',
        startedAtMs: 0,
        usage: {},
        logBytes: MIB,
        rootfs: { usedBytes: MIB, inodesUsed: 1 },
      },
    ];
    expect(brokenLimit(writer, podSample('u1', { containers }))).toBe(
      'Container main exceeded its local ephemeral storage limit "1Mi". ',
    );
  });
});

describe('the manager', () => {
  const manage = (sample: NodeSample, pods = [pod('a'), pod('b', '500Mi')], more: object = {}) => {
    const ended: { uid: string; reason: string; message: string; graceSeconds: number | undefined }[] = [];
    const said: string[] = [];
    const told: string[] = [];
    let reclaimed = 0;
    const manager = new EvictionManager({
      config: config(more),
      sample: async () => sample,
      sampleAnew: async () => sample,
      isGone: () => true,
      pods: () => pods,
      workers: {
        terminate: (uid, { graceSeconds, failure } = {}) =>
          void ended.push({
            uid,
            graceSeconds,
            reason: failure?.reason ?? '',
            message: failure?.message ?? '',
          }),
      },
      events: { event: (_, { reason }) => void said.push(reason) },
      log: silentLog,
      now: () => 1_000_000,
      reclaimDisk: async () => void reclaimed++,
      pressureChanged: () => void said.push('pressure'),
      evicted: (signal) => void said.push(signal),
      tellNode: (type, reason, message) => void told.push(`${type} ${reason}: ${message}`),
    });
    return { manager, ended, said, told, reclaimed: () => reclaimed };
  };

  test('ends one pod a round, at once, and says why', async () => {
    const low = nodeSample([using('a', 300 * MIB), using('b', 400 * MIB)], {
      usage: { memoryBytes: 950 * MIB, inactiveFileBytes: 10 * MIB },
    });
    const { manager, ended, said, told } = manage(low);
    await manager.round();
    expect(ended).toEqual([
      {
        uid: 'a',
        graceSeconds: 0,
        reason: 'Evicted',
        message:
          'The node was low on resource: memory. Threshold quantity: 102400Ki, available: 61440Ki. Container main was using 307200Ki, request is 0, has larger consumption of memory. ',
      },
    ]);
    expect(said).toEqual(['pressure', 'Evicted', 'memory.available']);
    expect(told).toEqual(['Warning EvictionThresholdMet: Attempting to reclaim memory']);
    expect(manager.has('MemoryPressure')).toBe(true);
    expect(manager.has('DiskPressure')).toBe(false);
  });

  test('frees disk before it ends anybody for it', async () => {
    const full = nodeSample([], {
      fs: { availableBytes: 1, capacityBytes: 100, usedBytes: 99, inodes: 0, inodesFree: 0 },
    });
    const { manager, ended, reclaimed } = manage(full, undefined, {
      evictionHard: { 'nodefs.available': '10%' },
    });
    await manager.round();
    expect(reclaimed()).toBe(1);
    expect(ended).toHaveLength(1);
  });

  test('leaves a node alone that has enough, and static pods in any case', async () => {
    const fine = manage(nodeSample());
    expect(await fine.manager.round()).toEqual([]);
    const fixed = podOf({}, { annotations: { 'kubernetes.io/config.source': 'file' } });
    const low = manage(nodeSample([], { usage: { memoryBytes: 1_000 * MIB } }), [fixed]);
    expect(await low.manager.round()).toEqual([]);
    expect(low.manager.has('MemoryPressure')).toBe(true);
  });
});
