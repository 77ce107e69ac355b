// What a scheduler counts, under the names of kube-scheduler.
// Guarantees: counting costs no allocation a pod beyond its first series; gauges are read only when asked for.
import { Counter, doublingBounds, type Family, Gauge, Histogram, seriesKey } from '../base/metrics.js';
import type { SchedulerState } from './state.js';

type AttemptResult = 'scheduled' | 'unschedulable' | 'error';

export class SchedulerMetrics {
  readonly #attempts = new Counter({
    name: 'scheduler_schedule_attempts_total',
    help: 'Number of attempts to schedule pods, by the result.',
  });
  readonly #attemptSeconds = new Histogram({
    name: 'scheduler_scheduling_attempt_duration_seconds',
    help: 'Scheduling attempt latency in seconds (scheduling algorithm + binding).',
    bounds: doublingBounds(0.001, 15),
  });
  readonly #algorithmSeconds = new Histogram({
    name: 'scheduler_scheduling_algorithm_duration_seconds',
    help: 'Scheduling algorithm latency in seconds.',
    bounds: doublingBounds(0.001, 15),
  });
  readonly #sliSeconds = new Histogram({
    name: 'scheduler_pod_scheduling_sli_duration_seconds',
    help: 'E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue.',
    bounds: doublingBounds(0.01, 20),
  });
  readonly #podAttempts = new Histogram({
    name: 'scheduler_pod_scheduling_attempts',
    help: 'Number of attempts to successfully schedule a pod.',
    bounds: doublingBounds(1, 5),
  });
  readonly #preemptions = new Counter({
    name: 'scheduler_preemption_attempts_total',
    help: 'Total preemption attempts in the cluster till now.',
  });
  readonly #victims = new Histogram({
    name: 'scheduler_preemption_victims',
    help: 'Number of selected preemption victims.',
    bounds: doublingBounds(1, 7),
  });
  readonly #keys = new Map<string, string>();
  #state: SchedulerState | undefined;

  /** For one component server; the gauges speak of the scheduler that is observed. */
  readonly families: readonly Family[] = [
    this.#attempts,
    this.#attemptSeconds,
    this.#algorithmSeconds,
    this.#sliSeconds,
    this.#podAttempts,
    this.#preemptions,
    this.#victims,
    new Gauge({ name: 'scheduler_pending_pods', help: 'Number of pending pods, by the queue type.' }, () =>
      this.#read((state) => Object.entries(state.pending()).map(([queue, count]) => [{ queue }, count])),
    ),
    new Gauge(
      {
        name: 'scheduler_unschedulable_pods',
        help: 'The number of unschedulable pods broken down by plugin name.',
      },
      () => this.#read((state) => [...state.queue.refusedBy()].map(([plugin, count]) => [{ plugin }, count])),
    ),
    new Gauge(
      {
        name: 'scheduler_cache_size',
        help: 'Number of nodes, pods, and assumed (bound) pods in the scheduler cache.',
      },
      () =>
        this.#read(({ snapshot }) => [
          [{ type: 'nodes' }, snapshot.nodeCount],
          [{ type: 'pods' }, snapshot.podCount],
          [{ type: 'assumed_pods' }, snapshot.assumedCount],
        ]),
    ),
  ];

  /** From now on the gauges tell of this one; of none when undefined. */
  observe(state: SchedulerState | undefined): void {
    this.#state = state;
  }

  decided(seconds: number): void {
    this.#algorithmSeconds.observe('', seconds);
  }

  attempted(profile: string, result: AttemptResult, seconds: number): void {
    const key = this.#keyOf(profile, result);
    this.#attempts.series(key).value += 1;
    this.#attemptSeconds.observe(key, seconds);
  }

  /** A pod was bound after so many attempts, so long after it came. */
  bound(attempts: number, seconds: number): void {
    this.#podAttempts.observe('', attempts);
    this.#sliSeconds.observe(seriesKey({ attempts: String(Math.min(attempts, 15)) }), seconds);
  }

  /** Somebody was to be displaced; by how many, if it helps. */
  preempted(victims: number | undefined): void {
    this.#preemptions.add({});
    if (victims !== undefined) this.#victims.observe('', victims);
  }

  #keyOf(profile: string, result: AttemptResult): string {
    const name = `${result}\0${profile}`;
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const key = seriesKey({ profile, result });
    this.#keys.set(name, key);
    return key;
  }

  #read(series: (state: SchedulerState) => Series[]): Series[] {
    return this.#state === undefined ? [] : series(this.#state);
  }
}

type Series = [labels: Readonly<Record<string, string>>, value: number];
