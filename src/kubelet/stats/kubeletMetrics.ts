// The kubelet's metrics about itself: /metrics and /metrics/probes.
// Guarantees: reading never waits; what hangs shows as a number that grows, not as one that is missing.
import type { V1PodStatus } from '../../api/gen/types.js';
import { KUBELET_VERSION } from '../node/nodeStatus.js';
import type { Pod, ProbeKind } from '../ports.js';
import type { RuntimePod } from '../runtime/runtimePod.js';
import { Counter, type Family, Histogram, metricText, type Sample } from './metricText.js';

const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const STARTS = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];
const STATUS_LISTS = {
  init_container: 'initContainerStatuses',
  container: 'containerStatuses',
  ephemeral_container: 'ephemeralContainerStatuses',
} as const;
const STARTED_AT = Date.now() / 1000;

export class KubeletMetrics {
  private readonly relists = new Histogram(DURATIONS);
  private readonly relistGaps = new Histogram(DURATIONS);
  private readonly starts = new Histogram(STARTS);
  private readonly probes = new Counter();
  private readonly evictions = new Counter();
  private readonly relistErrors = new Counter();
  private readonly terminations = new Counter();
  private lastRelist: number | undefined;
  private lastSeen: number | undefined;

  constructor(
    private readonly around: {
      readonly nodeName: string;
      readonly runtimePods: () => readonly RuntimePod[];
      /** Seconds since 1970. */
      readonly now?: () => number;
    },
  ) {}

  relisted(startedMs: number, endedMs: number, succeeded: boolean): void {
    if (!succeeded) {
      this.relistErrors.add({});
      return;
    }
    this.relists.observe((endedMs - startedMs) / 1000);
    if (this.lastRelist !== undefined) this.relistGaps.observe((startedMs - this.lastRelist) / 1000);
    this.lastRelist = startedMs;
    this.lastSeen = this.seconds();
  }

  podRuns(createdMs: number, nowMs: number): void {
    this.starts.observe(Math.max(0, nowMs - createdMs) / 1000);
  }

  probed({ metadata }: Pod, container: string, kind: ProbeKind, outcome: string): void {
    const result = { success: 'successful', warning: 'successful', failure: 'failed' }[outcome] ?? 'unknown';
    const { name: pod, namespace = 'default', uid } = metadata;
    const probe_type = kind.charAt(0).toUpperCase() + kind.slice(1);
    this.probes.add({ container, namespace, pod, pod_uid: uid, probe_type, result });
  }

  evicted(signal: string): void {
    this.evictions.add({ eviction_signal: signal });
  }

  /** A pod has another status than before: its containers that have ended meanwhile are counted. */
  told(status: V1PodStatus, previous: V1PodStatus): void {
    for (const [container_type, list] of Object.entries(STATUS_LISTS))
      for (const { name, state } of status[list] ?? []) {
        const wasEnded = previous[list]?.some((one) => one.name === name && one.state?.terminated);
        if (state?.terminated === undefined || wasEnded === true) continue;
        const { exitCode, reason = '' } = state.terminated;
        this.terminations.add({ container_type, exit_code: String(exitCode), reason });
      }
  }

  forgetPods(isGone: (uid: string) => boolean): void {
    this.probes.drop((labels) => isGone(labels['pod_uid'] ?? ''));
  }

  probesText(): string {
    const help = 'Cumulative number of a liveness, readiness or startup probe for a container by result.';
    return metricText([
      { name: 'prober_probe_total', type: 'counter', help, samples: this.probes.samples() },
    ]);
  }

  text(): string {
    const gauge = (name: string, help: string, ...samples: Sample[]): Family => ({
      name,
      type: 'gauge',
      help,
      samples,
    });
    const states = this.containerStates();
    const { cpu, rss } = ownUse();
    return metricText([
      gauge('kubernetes_build_info', 'The version of this kubelet.', {
        labels: { git_version: KUBELET_VERSION, platform: 'linux' },
        value: 1,
      }),
      gauge('kubelet_node_name', 'The name of the node.', {
        labels: { node: this.around.nodeName },
        value: 1,
      }),
      gauge('kubelet_running_pods', 'Number of pods that have a running pod sandbox.', {
        value: states.sandboxes,
      }),
      gauge(
        'kubelet_running_containers',
        'Number of containers by state.',
        ...[...states.containers].map(([container_state, value]) => ({ labels: { container_state }, value })),
      ),
      {
        name: 'kubelet_pleg_relist_duration_seconds',
        type: 'histogram',
        help: 'Duration of a relist.',
        samples: this.relists.samples(),
      },
      {
        name: 'kubelet_pleg_relist_interval_seconds',
        type: 'histogram',
        help: 'Time between the beginnings of two relists.',
        samples: this.relistGaps.samples(),
      },
      gauge('kubelet_pleg_last_seen_seconds', 'When a relist was last complete.', { value: this.lastSeen }),
      gauge(
        'kubelet_pleg_since_relist_seconds',
        'Time since a relist was last complete; it grows while one hangs.',
        {
          value: this.lastSeen === undefined ? undefined : this.seconds() - this.lastSeen,
        },
      ),
      {
        name: 'kubelet_pleg_relist_errors_total',
        type: 'counter',
        help: 'Relists that failed.',
        samples: this.relistErrors.samples(),
      },
      {
        name: 'kubelet_pod_start_total_duration_seconds',
        type: 'histogram',
        help: 'From the creation of a pod to the first time it is seen running.',
        samples: this.starts.samples(),
      },
      {
        name: 'kubelet_evictions',
        type: 'counter',
        help: 'Pods evicted by signal.',
        samples: this.evictions.samples(),
      },
      {
        name: 'kubelet_terminated_containers_total',
        type: 'counter',
        help: 'Containers that have ended, by exit code and reason.',
        samples: this.terminations.samples(),
      },
      {
        name: 'process_cpu_seconds_total',
        type: 'counter',
        help: 'Processor time of this process.',
        samples: [{ value: cpu }],
      },
      gauge('process_resident_memory_bytes', 'Resident memory of this process.', { value: rss }),
      gauge('process_start_time_seconds', 'When this process began.', { value: STARTED_AT }),
    ]);
  }

  private containerStates() {
    const containers = new Map<string, number>();
    let sandboxes = 0;
    for (const pod of this.around.runtimePods()) {
      if (pod.sandboxes.some(({ state }) => state === 'SANDBOX_READY')) sandboxes++;
      for (const { state } of pod.containers) {
        const name = state.replace('CONTAINER_', '').toLowerCase();
        containers.set(name, (containers.get(name) ?? 0) + 1);
      }
    }
    return { sandboxes, containers };
  }

  private seconds(): number {
    return this.around.now?.() ?? Date.now() / 1000;
  }
}

function ownUse() {
  const { user, system } = process.cpuUsage();
  return { cpu: (user + system) / 1e6, rss: process.memoryUsage.rss() };
}
