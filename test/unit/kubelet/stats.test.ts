import { expect, test } from 'vitest';
import { nodeNetwork } from '../../../src/kubelet/stats/collector.js';
import { KubeletMetrics } from '../../../src/kubelet/stats/kubeletMetrics.js';
import { cadvisorMetrics, resourceMetrics } from '../../../src/kubelet/stats/metrics.js';
import { withRate, workingSet } from '../../../src/kubelet/stats/sample.js';
import { summaryOf } from '../../../src/kubelet/stats/summary.js';
import { podWith } from '../../support/kubelet/podparts.js';
import { nodeSample, podSample } from './stats/samples.js';
import { podOf, run, runtimePod } from './support.js';

const web = podSample('u1', {
  name: 'web',
  usage: { cpuNanos: 2e9, memoryBytes: 300, inactiveFileBytes: 100, processes: 3 },
  network: { rxBytes: 1, rxErrors: 2, txBytes: 3, txErrors: 4 },
  containers: [
    {
      name: 'main',
      id: 'c1',
      image: 'busybox:1',
      startedAtMs: 5_000,
      logBytes: 7,
      usage: { cpuNanos: 1e9, memoryBytes: 200, cpuNanoCores: 5, memoryLimitBytes: 500 },
      rootfs: { usedBytes: 11, inodesUsed: 2 },
    },
  ],
  volumes: [{ name: 'tmp', usedBytes: 13, inodesUsed: 1 }],
});
const sample = nodeSample([web], { usage: { cpuNanos: 9e9, memoryBytes: 4_000, inactiveFileBytes: 1_000 } });

test('the working set is what is used without cached files', () => {
  expect(workingSet({ memoryBytes: 10, inactiveFileBytes: 4 })).toBe(6);
  expect(workingSet({ memoryBytes: 10, inactiveFileBytes: 40 })).toBe(0);
  expect(workingSet({})).toBeUndefined();
});

test('the summary names what the node runs beside pods, and the disk of their layers', () => {
  const groups = [{ name: 'kubelet', startedAtMs: 1_000, usage: { cpuNanos: 5, memoryBytes: 7 } }];
  expect(summaryOf('node-1', nodeSample([], { systemGroups: groups }))).toMatchObject({
    node: {
      systemContainers: [
        {
          name: 'kubelet',
          startTime: '1970-01-01T00:00:01Z',
          cpu: { usageCoreNanoSeconds: 5 },
          memory: { usageBytes: 7 },
        },
      ],
      runtime: { imageFs: { usedBytes: 400 }, containerFs: { usedBytes: 400 } },
    },
  });
});

test('a container that ends is counted once, by code and reason', () => {
  const metrics = new KubeletMetrics({ nodeName: 'n', runtimePods: () => [] });
  const pod = podWith({ containers: [] });
  const ended = (name: string) => ({
    name,
    image: '',
    imageID: '',
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode: 3, reason: 'Error' } },
  });
  metrics.told(pod, { initContainerStatuses: [ended('i')], containerStatuses: [ended('a')] }, {});
  metrics.told(pod, { containerStatuses: [ended('a'), ended('b')] }, { containerStatuses: [ended('a')] });
  const text = metrics.text();
  const line = (type: string, count: number) =>
    `kubelet_terminated_containers_total{container_type="${type}",exit_code="3",reason="Error"} ${count}`;
  expect(text).toContain(line('container', 2));
  expect(text).toContain(line('init_container', 1));
});

test('the start of a pod is timed once, from its creation to the moment when it runs', () => {
  const created = '2026-01-01T00:00:00Z';
  const now = () => Date.parse(created) / 1000 + 3;
  const metrics = new KubeletMetrics({ nodeName: 'n', runtimePods: () => [], now });
  const pod = podWith({ containers: [] }, { creationTimestamp: created });
  metrics.told(pod, { phase: 'Pending' }, { phase: 'Pending' });
  metrics.told(pod, { phase: 'Running' }, { phase: 'Pending' });
  metrics.told(pod, { phase: 'Running' }, { phase: 'Running' });
  // Found running when the kubelet started.
  metrics.told(pod, { phase: 'Running' }, {});
  const text = metrics.text();
  expect(text).toContain('kubelet_pod_start_total_duration_seconds_count 1\n');
  expect(text).toContain('kubelet_pod_start_total_duration_seconds_sum 3\n');
});

test('a rate comes from two moments, and not from a group that was made anew', () => {
  expect(withRate({ cpuNanos: 3e9 }, { cpuNanos: 1e9 }, 1_000).cpuNanoCores).toBe(2e9);
  expect(withRate({ cpuNanos: 3e9 }, undefined, 1_000).cpuNanoCores).toBeUndefined();
  expect(withRate({ cpuNanos: 1 }, { cpuNanos: 3e9 }, 1_000).cpuNanoCores).toBeUndefined();
});

test('the summary of a node with a pod', () => {
  expect(summaryOf('node-1', sample)).toMatchObject({
    node: { nodeName: 'node-1', cpu: { usageCoreNanoSeconds: 9e9 }, memory: { workingSetBytes: 3_000 } },
    pods: [
      {
        podRef: { name: 'web', namespace: 'default', uid: 'u1' },
        memory: { workingSetBytes: 200, usageBytes: 300 },
        network: { name: 'eth0', rxBytes: 1, txErrors: 4 },
        'ephemeral-storage': { usedBytes: 31, capacityBytes: 1_000 },
        process_stats: { process_count: 3 },
        containers: [
          {
            name: 'main',
            cpu: { usageNanoCores: 5, usageCoreNanoSeconds: 1e9 },
            memory: { workingSetBytes: 200, availableBytes: 300 },
            rootfs: { usedBytes: 11 },
            logs: { usedBytes: 7 },
          },
        ],
      },
    ],
  });
});

test('the metrics that metrics-server reads', () => {
  const text = resourceMetrics(sample);
  expect(text).toContain(
    'container_cpu_usage_seconds_total{container="main",namespace="default",pod="web"} 1\n',
  );
  expect(text).toContain('pod_memory_working_set_bytes{namespace="default",pod="web"} 200\n');
  expect(text).toContain('node_cpu_usage_seconds_total 9\n');
  expect(text.match(/^# TYPE node_memory_working_set_bytes gauge$/m)).not.toBeNull();
});

test('the metrics that dashboards of cAdvisor read', () => {
  const text = cadvisorMetrics(sample);
  expect(text).toContain(
    'container_cpu_usage_seconds_total{container="main",id="/kubepods/podu1/c1",image="busybox:1",name="c1",namespace="default",pod="web",cpu="total"} 1\n',
  );
  expect(text).toContain(
    'container_network_receive_bytes_total{container="",id="/kubepods/podu1",image="",name="",namespace="default",pod="web",interface="eth0"} 1\n',
  );
  expect(text).toContain('machine_cpu_cores 2\n');
});

test('a relist that hangs shows as a time that grows', () => {
  let now = 100;
  const pod = podOf();
  const metrics = new KubeletMetrics({
    nodeName: 'node-1',
    runtimePods: () => [runtimePod([run(pod, 'web', 'running')])],
    now: () => now,
  });
  metrics.relisted(0, 20, true);
  now = 160;
  metrics.probed(pod, 'web', 'liveness', 'failure');
  expect(metrics.text()).toContain('kubelet_pleg_since_relist_seconds 60\n');
  expect(metrics.text()).toContain('kubelet_running_containers{container_state="running"} 1\n');
  expect(metrics.probesText()).toContain('probe_type="Liveness",result="failed"} 1\n');
});

test("a node's network is that of its own devices", () => {
  const line = (name: string) => `${name}: 5 0 1 0 0 0 0 0 7 0 2 0 0 0 0 0`;
  expect(nodeNetwork(['Inter-|', line('    lo'), line('  eth0'), line('veth12')].join('\n'))).toEqual({
    rxBytes: 5,
    rxErrors: 1,
    txBytes: 7,
    txErrors: 2,
  });
});
