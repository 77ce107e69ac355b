// The bodies of /metrics/resource and /metrics/cadvisor out of one sample. Pure.
// Guarantees: families and labels are Kubernetes', so that stock dashboards and metrics-server read them.
import type { CgroupStats } from '../../kernel/cgroup/stats.js';
import { type Family, type Labels, metricText, type Sample } from './metricText.js';
import { type ContainerSample, type NodeSample, type PodSample, workingSet } from './sample.js';

const seconds = (nanos: number | undefined) => (nanos === undefined ? undefined : nanos / 1e9);

export function resourceMetrics(sample: NodeSample): string {
  const ofContainers = (read: (one: ContainerSample) => number | undefined): Sample[] =>
    sample.pods.flatMap(({ name: pod, namespace, containers }) =>
      containers.map((one) => ({ labels: { container: one.name, namespace, pod }, value: read(one) })),
    );
  const ofPods = (read: (pod: PodSample) => number | undefined): Sample[] =>
    sample.pods.map((pod) => ({ labels: { namespace: pod.namespace, pod: pod.name }, value: read(pod) }));
  const family = (name: string, type: Family['type'], help: string, samples: readonly Sample[]): Family => ({
    ...{ name, type, help, samples },
  });
  const cpuHelp = 'Cumulative cpu time consumed by the';
  const memoryHelp = 'Current working set in bytes of the';
  return metricText([
    family(
      'container_cpu_usage_seconds_total',
      'counter',
      `${cpuHelp} container in core-seconds`,
      ofContainers(({ usage }) => seconds(usage.cpuNanos)),
    ),
    family(
      'container_memory_working_set_bytes',
      'gauge',
      `${memoryHelp} container`,
      ofContainers(({ usage }) => workingSet(usage)),
    ),
    family(
      'container_start_time_seconds',
      'gauge',
      'Start time of the container since unix epoch in seconds',
      ofContainers(({ startedAtMs }) => startedAtMs / 1000),
    ),
    family('node_cpu_usage_seconds_total', 'counter', `${cpuHelp} node in core-seconds`, [
      { value: seconds(sample.usage.cpuNanos) },
    ]),
    family('node_memory_working_set_bytes', 'gauge', `${memoryHelp} node`, [
      { value: workingSet(sample.usage) },
    ]),
    family(
      'pod_cpu_usage_seconds_total',
      'counter',
      `${cpuHelp} pod in core-seconds`,
      ofPods(({ usage }) => seconds(usage.cpuNanos)),
    ),
    family(
      'pod_memory_working_set_bytes',
      'gauge',
      `${memoryHelp} pod`,
      ofPods(({ usage }) => workingSet(usage)),
    ),
    family(
      'resource_scrape_error',
      'gauge',
      '1 if there was an error while getting container metrics, 0 otherwise',
      [{ value: 0 }],
    ),
  ]);
}

type Read = (usage: CgroupStats) => number | undefined;

const BY_GROUP: readonly (readonly [string, Family['type'], string, Read])[] = [
  [
    'container_cpu_usage_seconds_total',
    'counter',
    'Cumulative cpu time consumed in seconds',
    (u) => seconds(u.cpuNanos),
  ],
  ['container_cpu_cfs_periods_total', 'counter', 'Elapsed enforcement periods', (u) => u.periods],
  ['container_cpu_cfs_throttled_periods_total', 'counter', 'Throttled periods', (u) => u.throttledPeriods],
  [
    'container_cpu_cfs_throttled_seconds_total',
    'counter',
    'Time throttled in seconds',
    (u) => seconds(u.throttledNanos),
  ],
  ['container_memory_usage_bytes', 'gauge', 'Memory in use, caches included', (u) => u.memoryBytes],
  ['container_memory_working_set_bytes', 'gauge', 'Current working set in bytes', workingSet],
  ['container_memory_rss', 'gauge', 'Size of anonymous memory in bytes', (u) => u.rssBytes],
  [
    'container_spec_memory_limit_bytes',
    'gauge',
    'Memory limit; 0 for none',
    (u) => (u.memoryBytes === undefined ? undefined : (u.memoryLimitBytes ?? 0)),
  ],
  ['container_processes', 'gauge', 'Number of processes', (u) => u.processes],
];

const BY_NETWORK: readonly (readonly [string, Read])[] = [
  ['receive_bytes', (u) => u.rxBytes],
  ['receive_packets', (u) => u.rxPackets],
  ['receive_errors', (u) => u.rxErrors],
  ['receive_packets_dropped', (u) => u.rxDropped],
  ['transmit_bytes', (u) => u.txBytes],
  ['transmit_packets', (u) => u.txPackets],
  ['transmit_errors', (u) => u.txErrors],
  ['transmit_packets_dropped', (u) => u.txDropped],
];

export function cadvisorMetrics(sample: NodeSample): string {
  const groups = sample.pods.flatMap((pod) => [
    { labels: labelsOf(pod), usage: pod.usage },
    ...pod.containers.map((one) => ({ labels: labelsOf(pod, one), usage: one.usage })),
  ]);
  const containers = sample.pods.flatMap((pod) =>
    pod.containers.map((one) => ({ labels: labelsOf(pod, one), one })),
  );
  const networks = sample.pods.flatMap((pod) =>
    pod.network === undefined
      ? []
      : [{ labels: { ...labelsOf(pod), interface: 'eth0' }, usage: pod.network }],
  );
  return metricText([
    ...BY_GROUP.map(
      ([name, type, help, read]): Family => ({
        ...{ name, type, help },
        samples: groups.map(({ labels, usage }) => ({
          labels: name === 'container_cpu_usage_seconds_total' ? { ...labels, cpu: 'total' } : labels,
          value: read(usage),
        })),
      }),
    ),
    {
      name: 'container_start_time_seconds',
      type: 'gauge',
      help: 'Start time of the container since unix epoch in seconds',
      samples: containers.map(({ labels, one }) => ({ labels, value: one.startedAtMs / 1000 })),
    },
    {
      name: 'container_fs_usage_bytes',
      type: 'gauge',
      help: 'Bytes that the container has written over its image',
      samples: containers.map(({ labels, one }) => ({ labels, value: one.rootfs?.usedBytes })),
    },
    ...BY_NETWORK.map(
      ([name, read]): Family => ({
        name: `container_network_${name}_total`,
        type: 'counter',
        help: `Cumulative count of ${name.replaceAll('_', ' ')}`,
        samples: networks.map(({ labels, usage }) => ({ labels, value: read(usage) })),
      }),
    ),
    {
      name: 'machine_cpu_cores',
      type: 'gauge',
      help: 'Number of logical CPU cores',
      samples: [{ value: sample.cpus }],
    },
    {
      name: 'machine_memory_bytes',
      type: 'gauge',
      help: 'Amount of memory installed',
      samples: [{ value: sample.memoryTotalBytes }],
    },
  ]);
}

function labelsOf(pod: PodSample, container?: ContainerSample): Labels {
  return {
    container: container?.name ?? '',
    id: container === undefined ? pod.group : `${pod.group}/${container.id}`,
    image: container?.image ?? '',
    name: container?.id ?? '',
    namespace: pod.namespace,
    pod: pod.name,
  };
}
