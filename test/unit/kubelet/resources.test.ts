import { describe, expect, test } from 'vitest';
import type { V1PodSpec, V1ResourceRequirements } from '../../../src/api/gen/types.js';
import {
  containerResources,
  oomScoreAdj,
  podCgroup,
  podCgroupResources,
  podRequest,
  sandboxResources,
} from '../../../src/kubelet/resources.js';
import { container } from './support.js';

const GIB = 2 ** 30;
const spec = (resources?: V1ResourceRequirements, more: Partial<V1PodSpec> = {}): V1PodSpec => ({
  containers: [container('web', resources === undefined ? {} : { resources })],
  ...more,
});
const both = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
const MIB = 2 ** 20;
const limits = { cpuCFSQuota: true, podPidsLimit: -1, hugePageSizes: [2 * MIB, GIB] };
const NO_PAGES = { hugePageLimits: { '2MB': 0, '1GB': 0 } };

describe('requests and limits as the kernel takes them', () => {
  test.each<[string, V1PodSpec, number]>([
    ['guaranteed', spec(both('1', '1Gi')), -997],
    ['best effort', spec(), 1000],
    ['burstable with half the memory', spec({ requests: { memory: '2Gi' } }), 500],
    ['burstable with almost nothing', spec({ requests: { memory: '1' } }), 999],
    ['burstable with everything', spec({ requests: { memory: '4Gi' } }), 3],
    ['burstable with a small part, in whole numbers', spec({ requests: { memory: '5Mi' } }), 999],
    ['critical for the node', spec(undefined, { priority: 2_000_001_000 }), -997],
  ])('oom_score_adj: %s', (_, pod, score) => {
    expect(oomScoreAdj(pod, pod.containers[0] ?? container('none'), 4 * GIB)).toBe(score);
  });

  test.each([
    ['asks for less than any', '1Gi', ['2Gi', '3Gi'], 500],
    ['asks for more than some', '3Gi', ['2Gi', '3Gi'], 250],
    ['asks for nothing', undefined, ['2Gi'], 500],
    ['serves one that asks for nothing', '1Gi', [undefined, '2Gi'], 750],
  ])('oom_score_adj: a sidecar that %s', (_, own, mains, score) => {
    const asking = (memory: string | undefined) =>
      memory === undefined ? {} : { resources: { requests: { memory } } };
    const side = container('side', { restartPolicy: 'Always', ...asking(own) });
    const containers = mains.map((memory, index) => container(`main${index}`, asking(memory)));
    expect(oomScoreAdj({ initContainers: [side], containers }, side, 4 * GIB)).toBe(score);
  });

  test('a container', () => {
    const pod = spec({ requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '64Mi' } });
    const made = containerResources(pod, pod.containers[0] ?? container('none'), {
      memoryCapacity: GIB,
      cpuCFSQuota: true,
      hugePageSizes: [],
    });
    expect(made).toMatchObject({
      cpuShares: 256,
      cpuQuota: 50_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: 64 * 2 ** 20,
    });
  });

  test('a container without limits of its own has those of its pod', () => {
    const machine = { memoryCapacity: GIB, cpuCFSQuota: true, hugePageSizes: [] };
    const pod = { ...spec({}), resources: { limits: { cpu: '80m', memory: '95Mi' } } };
    expect(containerResources(pod, pod.containers[0] ?? container('none'), machine)).toMatchObject({
      cpuShares: 81,
      cpuQuota: 8_000,
      memoryLimitInBytes: 95 * 2 ** 20,
    });
    const own = { ...pod, containers: spec({ limits: { memory: '10Mi' } }).containers };
    expect(containerResources(own, own.containers[0] ?? container('none'), machine)).toMatchObject({
      cpuQuota: 8_000,
      memoryLimitInBytes: 10 * 2 ** 20,
    });
  });

  test('the group of a pod is limited only when all its containers are', () => {
    expect(podCgroupResources(spec(both('1', '1Gi')), limits)).toEqual({
      cpuShares: 1024,
      cpuQuotaUs: 100_000,
      cpuPeriodUs: 100_000,
      memoryLimitBytes: GIB,
      ...NO_PAGES,
    });
    const half = { containers: [container('a', { resources: both('1', '1Gi') }), container('b')] };
    expect(podCgroupResources(half, limits)).toEqual({ cpuShares: 1024, ...NO_PAGES });
    expect(podCgroupResources(spec(), { ...limits, podPidsLimit: 100 })).toEqual({
      cpuShares: 2,
      pidsLimit: 100,
      ...NO_PAGES,
    });
  });

  test('huge pages: what was asked for of each size, and none of the others', () => {
    const pages = (amounts: Record<string, string>) =>
      container(`c${Object.values(amounts).join('-')}`, {
        resources: { requests: amounts, limits: { cpu: '1', ...amounts } },
      });
    const pod = { containers: [pages({ 'hugepages-2Mi': '4Mi' }), pages({ 'hugepages-2Mi': '6Mi' })] };
    const machine = { ...limits, memoryCapacity: GIB };
    expect(containerResources(pod, pod.containers[0] ?? container('none'), machine).hugepageLimits).toEqual([
      { pageSize: '2MB', limit: 4 * MIB },
      { pageSize: '1GB', limit: 0 },
    ]);
    expect(podCgroupResources(pod, limits).hugePageLimits).toEqual({ '2MB': 10 * MIB, '1GB': 0 });
  });

  test('overhead comes on top of the pod, and is told to the runtime apart from it', () => {
    const pod = spec(both('1', '1Gi'), { overhead: { cpu: '500m', memory: '1Gi' } });
    expect(podCgroupResources(pod, limits)).toMatchObject({
      cpuShares: 1536,
      cpuQuotaUs: 150_000,
      memoryLimitBytes: 2 * GIB,
    });
    const open = spec({ requests: { cpu: '1' } }, { overhead: { cpu: '500m', memory: '1Gi' } });
    expect(podCgroupResources(open, limits)).toEqual({ cpuShares: 1536, ...NO_PAGES });
    expect(sandboxResources(pod, limits)).toEqual({
      resources: { cpuShares: 1024, cpuQuota: 100_000, cpuPeriod: 100_000, memoryLimitInBytes: GIB },
      overhead: { cpuShares: 512, cpuQuota: 50_000, cpuPeriod: 100_000, memoryLimitInBytes: GIB },
    });
  });

  test('a pod asks for its largest moment', () => {
    const cpu = (requests: string, more = {}) =>
      container(`c${requests}`, { resources: { requests: { cpu: requests } }, ...more });
    const pod = {
      initContainers: [cpu('100m', { restartPolicy: 'Always' }), cpu('2')],
      containers: [cpu('500m'), cpu('1')],
      overhead: { cpu: '10m' },
    };
    expect(podRequest(pod, 'cpu')).toBe(2110);
  });

  test.each<[V1PodSpec, string, string]>([
    [spec(both('1', '1Gi')), '/', '/kubepods/podu1'],
    [spec({ requests: { cpu: '1' } }), '/trellis', '/trellis/kubepods/burstable/podu1'],
    [spec(), '/trellis/', '/trellis/kubepods/besteffort/podu1'],
  ])('the place of a group is by class', (pod, root, place) => {
    expect(podCgroup(root, pod, 'u1')).toBe(place);
  });
});
