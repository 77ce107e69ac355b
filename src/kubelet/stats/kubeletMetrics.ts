// The kubelet's metrics about itself: /metrics and /metrics/probes.
// Guarantees: reading never waits; what hangs shows as a number that grows, not as one that is missing.
import type { V1PodStatus } from '../../api/gen/types.js';
import { Counter, Gauge, Histogram, metricsText, type Sample } from '../../base/metrics.js';
import { processMetrics } from '../../client/processMetrics.js';
import { KUBELET_VERSION } from '../node/nodeStatus.js';
import type { Pod, ProbeKind } from '../ports.js';
import type { RuntimePod } from '../runtime/runtimePod.js';

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

export class KubeletMetrics {
  readonly #around: {
    readonly nodeName: string;
    readonly runtimePods: () => readonly RuntimePod[];
    /** Seconds since 1970. */
    readonly now?: () => number;
  };

  readonly #relists = new Histogram({
    name: 'kubelet_pleg_relist_duration_seconds',
    help: 'Duration of a relist.',
    bounds: DURATIONS,
  });
  readonly #relistGaps = new Histogram({
    name: 'kubelet_pleg_relist_interval_seconds',
    help: 'Time between the beginnings of two relists.',
    bounds: DURATIONS,
  });
  readonly #starts = new Histogram({
    name: 'kubelet_pod_start_total_duration_seconds',
    help: 'From the creation of a pod to the first time it is seen running.',
    bounds: STARTS,
  });
  readonly #probes = new Counter({
    name: 'prober_probe_total',
    help: 'Cumulative number of a liveness, readiness or startup probe for a container by result.',
  });
  readonly #evictions = new Counter({ name: 'kubelet_evictions', help: 'Pods evicted by signal.' });
  readonly #relistErrors = new Counter({
    name: 'kubelet_pleg_relist_errors_total',
    help: 'Relists that failed.',
  });
  readonly #terminations = new Counter({
    name: 'kubelet_terminated_containers_total',
    help: 'Containers that have ended, by exit code and reason.',
  });
  readonly #ownProcess = processMetrics();
  #lastRelist: number | undefined;
  #lastSeen: number | undefined;

  constructor(around: {
    readonly nodeName: string;
    readonly runtimePods: () => readonly RuntimePod[];
    /** Seconds since 1970. */
    readonly now?: () => number;
  }) {
    this.#around = around;

    // Told from the start, also before the first observation.
    for (const histogram of [this.#relists, this.#relistGaps, this.#starts]) histogram.series('');
  }

  relisted(startedMs: number, endedMs: number, succeeded: boolean): void {
    if (!succeeded) {
      this.#relistErrors.add({});
      return;
    }
    this.#relists.observe('', (endedMs - startedMs) / 1000);
    if (this.#lastRelist !== undefined) this.#relistGaps.observe('', (startedMs - this.#lastRelist) / 1000);
    this.#lastRelist = startedMs;
    this.#lastSeen = this.#seconds();
  }

  probed({ metadata }: Pod, container: string, kind: ProbeKind, outcome: string): void {
    const result = { success: 'successful', warning: 'successful', failure: 'failed' }[outcome] ?? 'unknown';
    const { name: pod, namespace = 'default', uid } = metadata;
    const probe_type = kind.charAt(0).toUpperCase() + kind.slice(1);
    this.#probes.add({ container, namespace, pod, pod_uid: uid, probe_type, result });
  }

  evicted(signal: string): void {
    this.#evictions.add({ eviction_signal: signal });
  }

  /** A pod has another status than before: that it runs now, and its containers that have ended meanwhile, are counted. */
  told({ metadata }: Pod, status: V1PodStatus, previous: V1PodStatus): void {
    // Of a pod that ran before this kubelet started, nothing was pending.
    if (
      previous.phase === 'Pending' &&
      status.phase === 'Running' &&
      metadata.creationTimestamp !== undefined
    )
      this.#starts.observe('', Math.max(0, this.#seconds() - Date.parse(metadata.creationTimestamp) / 1000));
    for (const [container_type, list] of Object.entries(STATUS_LISTS))
      for (const { name, state } of status[list] ?? []) {
        const wasEnded = previous[list]?.some((one) => one.name === name && one.state?.terminated);
        if (state?.terminated === undefined || wasEnded === true) continue;
        const { exitCode, reason = '' } = state.terminated;
        this.#terminations.add({ container_type, exit_code: String(exitCode), reason });
      }
  }

  forgetPods(isGone: (uid: string) => boolean): void {
    this.#probes.drop((labels) => isGone(labels['pod_uid'] ?? ''));
  }

  probesText(): string {
    return metricsText([this.#probes]);
  }

  text(): string {
    const relists = this.#relists;
    const relistGaps = this.#relistGaps;
    const starts = this.#starts;
    const evictions = this.#evictions;
    const relistErrors = this.#relistErrors;
    const terminations = this.#terminations;
    const counted = [relists, relistGaps, starts, evictions, relistErrors, terminations];
    return metricsText([...counted, ...this.#nodeFamilies(), ...this.#relistFamilies(), ...this.#ownProcess]);
  }

  #nodeFamilies(): Gauge[] {
    const { sandboxes, containers } = this.#containerStates();
    const version = { git_version: KUBELET_VERSION, platform: 'linux' };
    return [
      gauge('kubernetes_build_info', 'The version of this kubelet.', [version, 1]),
      gauge('kubelet_node_name', 'The name of the node.', [{ node: this.#around.nodeName }, 1]),
      gauge('kubelet_running_pods', 'Number of pods that have a running pod sandbox.', ['', sandboxes]),
      gauge(
        'kubelet_running_containers',
        'Number of containers by state.',
        ...[...containers].map(([container_state, count]): Sample => [{ container_state }, count]),
      ),
    ];
  }

  #relistFamilies(): Gauge[] {
    const lastSeen = this.#lastSeen;
    const since = lastSeen === undefined ? undefined : this.#seconds() - lastSeen;
    return [
      gauge('kubelet_pleg_last_seen_seconds', 'When a relist was last complete.', ['', lastSeen]),
      gauge(
        'kubelet_pleg_since_relist_seconds',
        'Time since a relist was last complete; it grows while one hangs.',
        ['', since],
      ),
    ];
  }

  #containerStates() {
    const containers = new Map<string, number>();
    let sandboxes = 0;
    for (const pod of this.#around.runtimePods()) {
      if (pod.sandboxes.some(({ state }) => state === 'SANDBOX_READY')) sandboxes++;
      for (const { state } of pod.containers) {
        const name = state.replace('CONTAINER_', '').toLowerCase();
        containers.set(name, (containers.get(name) ?? 0) + 1);
      }
    }
    return { sandboxes, containers };
  }

  #seconds(): number {
    return this.#around.now?.() ?? Date.now() / 1000;
  }
}

function gauge(name: string, help: string, ...samples: Sample[]): Gauge {
  return new Gauge({ name, help }, () => samples);
}
