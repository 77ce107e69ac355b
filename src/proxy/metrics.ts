// The metrics of a proxy, with kube-proxy's names, in Prometheus' text format.
// Guarantees: bounded: every metric has a fixed set of labels.
import {
  Counter,
  doublingBounds,
  type Family,
  Gauge,
  Histogram,
  metricsText,
  type Observations,
  type Sample,
} from '../base/metrics.js';

/** kube-proxy's own bounds: 1 ms to about 16 s. */
const SYNC_BOUNDS = doublingBounds(0.001, 15);
const steps = (first: number, step: number, last: number): number[] =>
  Array.from({ length: (last - first) / step + 1 }, (_, at) => first + at * step);
const PROGRAMMING_BOUNDS = [0.25, 0.5, ...steps(1, 1, 59), ...steps(65, 5, 120), ...steps(150, 30, 300)];
const SYNC = 'kubeproxy_sync_proxy_rules';

type Endpoint = 'healthz' | 'livez';

export class ProxyMetrics {
  readonly #mode: () => string;
  readonly #withoutLocal: () => { readonly internal: number; readonly external: number };

  readonly syncSeconds: Observations;
  readonly fullSyncSeconds: Observations;
  readonly partialSyncSeconds: Observations;
  readonly programmingSeconds: Observations;
  lastSync = 0;
  lastQueued = 0;
  changes = 0;
  pending = 0;
  failures = 0;
  repairs = 0;
  services = 0;
  /** Service ports that could not be programmed. */
  refused = 0;
  /** Messages or lines of the last sync. */
  sent = 0;
  flowsEnded = 0;
  readonly #families: Family[] = [];
  readonly #health: Readonly<Record<Endpoint, Counter>>;

  /** Both are asked when the numbers are read. */
  constructor(
    mode: () => string,
    withoutLocal: () => { readonly internal: number; readonly external: number },
  ) {
    this.#mode = mode;
    this.#withoutLocal = withoutLocal;

    this.syncSeconds = this.#histogram(
      `${SYNC}_duration_seconds`,
      'SyncProxyRules latency in seconds',
      SYNC_BOUNDS,
    );
    this.fullSyncSeconds = this.#histogram(
      'kubeproxy_sync_full_proxy_rules_duration_seconds',
      'Latency of full syncs in seconds',
      SYNC_BOUNDS,
    );
    this.partialSyncSeconds = this.#histogram(
      'kubeproxy_sync_partial_proxy_rules_duration_seconds',
      'Latency of partial syncs in seconds',
      SYNC_BOUNDS,
    );
    this.programmingSeconds = this.#histogram(
      'kubeproxy_network_programming_duration_seconds',
      'From a change of endpoints to its rules, in seconds',
      PROGRAMMING_BOUNDS,
    );
    this.#health = { healthz: this.#healthOf('healthz'), livez: this.#healthOf('livez') };
  }

  countHealth(endpoint: Endpoint, code: number): void {
    this.#health[endpoint].add({ code: String(code) });
  }

  render(): string {
    return metricsText([...this.#families, ...this.#syncs(), ...this.#rules()]);
  }

  #syncs(): Family[] {
    const { lastSync, lastQueued, changes, pending, failures } = this;
    const without = this.#withoutLocal();
    return [
      one('gauge', `${SYNC}_last_timestamp_seconds`, 'When the rules were last synced', lastSync / 1000),
      one(
        'gauge',
        `${SYNC}_last_queued_timestamp_seconds`,
        'When a sync was last asked for',
        lastQueued / 1000,
      ),
      one('counter', `${SYNC}_service_changes_total`, 'Changes of service ports', changes),
      one('gauge', `${SYNC}_service_changes_pending`, 'Changes of service ports not yet synced', pending),
      one('counter', `${SYNC}_${this.#mode()}_sync_failures_total`, 'Syncs that failed', failures),
      several(
        'gauge',
        `${SYNC}_no_local_endpoints_total`,
        'Services with policy Local and no endpoint here',
        [
          [{ traffic_policy: 'internal' }, without.internal],
          [{ traffic_policy: 'external' }, without.external],
        ],
      ),
    ];
  }

  #rules(): Family[] {
    return [
      one(
        'counter',
        'kubeproxy_conntrack_reconciler_deleted_entries_total',
        'Flows ended because their endpoint was gone',
        this.flowsEnded,
      ),
      one(
        'counter',
        'trellis_proxy_repairs_total',
        'Times the rules were found changed by others',
        this.repairs,
      ),
      one('gauge', 'trellis_proxy_service_ports', 'Service ports in the kernel', this.services),
      one(
        'gauge',
        'trellis_proxy_refused_service_ports',
        'Service ports that could not be programmed and are left out',
        this.refused,
      ),
      one(
        'gauge',
        'trellis_proxy_last_sync_messages',
        'Messages or lines that the last sync sent',
        this.sent,
      ),
    ];
  }

  #histogram(name: string, help: string, bounds: readonly number[]): Observations {
    const histogram = new Histogram({ name, help, bounds });
    this.#families.push(histogram);
    return histogram.series('');
  }

  #healthOf(endpoint: Endpoint): Counter {
    const counter = new Counter({
      name: `kubeproxy_proxy_${endpoint}_total`,
      help: `Answers of ${endpoint}`,
    });
    this.#families.push(counter);
    return counter;
  }
}

const several = (type: 'gauge' | 'counter', name: string, help: string, samples: readonly Sample[]): Family =>
  new Gauge({ type, name, help }, () => samples);

const one = (type: 'gauge' | 'counter', name: string, help: string, value: number): Family =>
  several(type, name, help, [[{}, value]]);
