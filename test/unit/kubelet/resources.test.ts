import { describe, expect, test } from 'vitest';
import type { V1PodSpec, V1ResourceRequirements } from '../../../src/api/gen/types.js';
import {
  containerResources,
  oomScoreAdj,
  podCgroup,
  podCgroupResources,
  podRequest,
} from '../../../src/kubelet/resources.js';
import { container } from './support.js';

const GIB = 2 ** 30;
const spec = (resources?: V1ResourceRequirements, more: Partial<V1PodSpec> = {}): V1PodSpec => ({
  containers: [container('web', resources === undefined ? {} : { resources })],
  ...more,
});
const both = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
const limits = { cpuCFSQuota: true, podPidsLimit: -1 };

describe('requests and limits as the kernel takes them', () => {
  test.each<[string, V1PodSpec, number]>([
    ['guaranteed', spec(both('1', '1Gi')), -997],
    ['best effort', spec(), 1000],
    ['burstable with half the memory', spec({ requests: { memory: '2Gi' } }), 500],
    ['burstable with almost nothing', spec({ requests: { memory: '1' } }), 999],
    ['burstable with everything', spec({ requests: { memory: '4Gi' } }), 3],
    ['critical for the node', spec(undefined, { priority: 2_000_001_000 }), -997],
  ])('oom_score_adj: %s', (_, pod, score) => {
    expect(oomScoreAdj(pod, pod.containers[0] ?? container('none'), 4 * GIB)).toBe(score);
  });

  test('a container', () => {
    const pod = spec({ requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '64Mi' } });
    const made = containerResources(pod, pod.containers[0] ?? container('none'), {
      memoryCapacity: GIB,
      cpuCFSQuota: true,
    });
    expect(made).toMatchObject({
      cpuShares: 256,
      cpuQuota: 50_000,
      cpuPeriod: 100_000,
      memoryLimitInBytes: 64 * 2 ** 20,
    });
  });

  test('the group of a pod is limited only when all its containers are', () => {
    expect(podCgroupResources(spec(both('1', '1Gi')), limits)).toEqual({
      cpuShares: 1024,
      cpuQuotaUs: 100_000,
      cpuPeriodUs: 100_000,
      memoryLimitBytes: GIB,
    });
    const half = { containers: [container('a', { resources: both('1', '1Gi') }), container('b')] };
    expect(podCgroupResources(half, limits)).toEqual({ cpuShares: 1024 });
    expect(podCgroupResources(spec(), { ...limits, podPidsLimit: 100 })).toEqual({
      cpuShares: 2,
      pidsLimit: 100,
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
