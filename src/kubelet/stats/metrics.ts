// The bodies of /metrics/resource and /metrics/cadvisor out of one sample. Pure.
// Guarantees: families and labels are Kubernetes', so that stock dashboards and metrics-server read them.

import { Gauge, metricsText, type Sample, seriesKey } from '../../base/metrics.js';
import type { CgroupStats } from '../../kernel/cgroup/stats.js';
import { type ContainerSample, type NodeSample, type PodSample, workingSet } from './sample.js';

const seconds = (nanos: number | undefined) => (nanos === undefined ? undefined : nanos / 1e9);

export function resourceMetrics(sample: NodeSample): string {
  const ofContainers = (read: (one: ContainerSample) => number | undefined): Sample[] =>
    sample.pods.flatMap(({ name: pod, namespace, containers }) =>
      containers.map((one): Sample => [{ container: one.name, namespace, pod }, read(one)]),
    );
  const ofPods = (read: (pod: PodSample) => number | undefined): Sample[] =>
    sample.pods.map((pod) => [{ namespace: pod.namespace, pod: pod.name }, read(pod)]);
  const cpuHelp = 'Cumulative cpu time consumed by the';
  const memoryHelp = 'Current working set in bytes of the';
  return metricsText([
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
      ['', seconds(sample.usage.cpuNanos)],
    ]),
    family('node_memory_working_set_bytes', 'gauge', `${memoryHelp} node`, [['', workingSet(sample.usage)]]),
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
      [['', 0]],
    ),
  ]);
}

type FamilyType = 'counter' | 'gauge';

const family = (name: string, type: FamilyType, help: string, samples: readonly Sample[]): Gauge =>
  new Gauge({ name, type, help }, () => samples);

type Read = (usage: CgroupStats) => number | undefined;

const BY_GROUP: readonly (readonly [string, FamilyType, string, Read])[] = [
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
  const pods = sample.pods.map((pod) => ({ pod, key: keyOf(pod) }));
  const containers = sample.pods.flatMap((pod) =>
    pod.containers.map((one) => ({ one, key: keyOf(pod, one) })),
  );
  const groups = [
    ...pods.map(({ pod, key }) => ({ key, usage: pod.usage })),
    ...containers.map(({ one, key }) => ({ key, usage: one.usage })),
  ];
  const networks = pods.flatMap(({ pod, key }) =>
    pod.network === undefined ? [] : [{ key: `${key},interface="eth0"`, usage: pod.network }],
  );
  return metricsText([
    ...BY_GROUP.map(([name, type, help, read]) => {
      const more = name === 'container_cpu_usage_seconds_total' ? ',cpu="total"' : '';
      const samples = groups.map(({ key, usage }): Sample => [`${key}${more}`, read(usage)]);
      return family(name, type, help, samples);
    }),
    family(
      'container_start_time_seconds',
      'gauge',
      'Start time of the container since unix epoch in seconds',
      containers.map(({ one, key }) => [key, one.startedAtMs / 1000]),
    ),
    family(
      'container_fs_usage_bytes',
      'gauge',
      'Bytes that the container has written over its image',
      containers.map(({ one, key }) => [key, one.rootfs?.usedBytes]),
    ),
    ...BY_NETWORK.map(([name, read]) =>
      family(
        `container_network_${name}_total`,
        'counter',
        `Cumulative count of ${name.replaceAll('_', ' ')}`,
        networks.map(({ key, usage }) => [key, read(usage)]),
      ),
    ),
    family('machine_cpu_cores', 'gauge', 'Number of logical CPU cores', [['', sample.cpus]]),
    family('machine_memory_bytes', 'gauge', 'Amount of memory installed', [['', sample.memoryTotalBytes]]),
  ]);
}

/** Written once for all families. */
const keyOf = (pod: PodSample, container?: ContainerSample): string =>
  seriesKey({
    container: container?.name ?? '',
    id: container === undefined ? pod.group : `${pod.group}/${container.id}`,
    image: container?.image ?? '',
    name: container?.id ?? '',
    namespace: pod.namespace,
    pod: pod.name,
  });
