// The numbers a proxy tells of itself, under kube-proxy's names, in Prometheus' text form.
// Guarantees: bounded: every metric has a fixed set of labels.

/** kube-proxy's own bounds: 1 ms to about 16 s. */
const SYNC_BOUNDS = Array.from({ length: 15 }, (_, i) => 0.001 * 2 ** i);
const PROGRAMMING_BOUNDS = [
  0.25,
  0.5,
  ...Array.from({ length: 59 }, (_, i) => i + 1),
  65,
  70,
  75,
  80,
  85,
  90,
  95,
  100,
  105,
  110,
  115,
  120,
  150,
  180,
  210,
  240,
  270,
  300,
];

class Histogram {
  readonly #counts: number[];
  #sum = 0;
  #total = 0;

  constructor(private readonly bounds: readonly number[]) {
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#total += 1;
    for (const [i, bound] of this.bounds.entries())
      if (value <= bound) this.#counts[i] = (this.#counts[i] ?? 0) + 1;
  }

  render(name: string): string[] {
    return [
      ...this.bounds.map(
        (bound, i) => `${name}_bucket{le="${Number(bound.toPrecision(6))}"} ${this.#counts[i]}`,
      ),
      `${name}_bucket{le="+Inf"} ${this.#total}`,
      `${name}_sum ${this.#sum}`,
      `${name}_count ${this.#total}`,
    ];
  }
}

export class ProxyMetrics {
  readonly syncSeconds = new Histogram(SYNC_BOUNDS);
  readonly fullSyncSeconds = new Histogram(SYNC_BOUNDS);
  readonly partialSyncSeconds = new Histogram(SYNC_BOUNDS);
  readonly programmingSeconds = new Histogram(PROGRAMMING_BOUNDS);
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
  readonly health = new Map<string, number>();

  /** Both are asked when the numbers are read. */
  constructor(
    private readonly mode: () => string,
    private readonly withoutLocal: () => { readonly internal: number; readonly external: number },
  ) {}

  countHealth(endpoint: 'healthz' | 'livez', code: number): void {
    const key = `${endpoint} ${code}`;
    this.health.set(key, (this.health.get(key) ?? 0) + 1);
  }

  render(): string {
    const lines: string[] = [];
    const without = this.withoutLocal();
    const put = (type: string, name: string, help: string, samples: readonly string[]) =>
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples);
    const histogram = (name: string, help: string, of: Histogram) =>
      put('histogram', name, help, of.render(name));
    const one = (type: string, name: string, help: string, value: number) =>
      put(type, name, help, [`${name} ${value}`]);
    const SYNC = 'kubeproxy_sync_proxy_rules';
    histogram(`${SYNC}_duration_seconds`, 'SyncProxyRules latency in seconds', this.syncSeconds);
    histogram(
      'kubeproxy_sync_full_proxy_rules_duration_seconds',
      'Latency of full syncs in seconds',
      this.fullSyncSeconds,
    );
    histogram(
      'kubeproxy_sync_partial_proxy_rules_duration_seconds',
      'Latency of partial syncs in seconds',
      this.partialSyncSeconds,
    );
    histogram(
      'kubeproxy_network_programming_duration_seconds',
      'From a change of endpoints to its rules, in seconds',
      this.programmingSeconds,
    );
    one('gauge', `${SYNC}_last_timestamp_seconds`, 'When the rules were last synced', this.lastSync / 1000);
    one(
      'gauge',
      `${SYNC}_last_queued_timestamp_seconds`,
      'When a sync was last asked for',
      this.lastQueued / 1000,
    );
    one('counter', `${SYNC}_service_changes_total`, 'Changes of service ports', this.changes);
    one('gauge', `${SYNC}_service_changes_pending`, 'Changes of service ports not yet synced', this.pending);
    put('gauge', `${SYNC}_no_local_endpoints_total`, 'Services with policy Local and no endpoint here', [
      `${SYNC}_no_local_endpoints_total{traffic_policy="internal"} ${without.internal}`,
      `${SYNC}_no_local_endpoints_total{traffic_policy="external"} ${without.external}`,
    ]);
    one('counter', `${SYNC}_${this.mode()}_sync_failures_total`, 'Syncs that failed', this.failures);
    one(
      'counter',
      'kubeproxy_conntrack_reconciler_deleted_entries_total',
      'Flows ended because their endpoint was gone',
      this.flowsEnded,
    );
    one(
      'counter',
      'trellis_proxy_repairs_total',
      'Times the rules were found changed by others',
      this.repairs,
    );
    one('gauge', 'trellis_proxy_service_ports', 'Service ports in the kernel', this.services);
    one(
      'gauge',
      'trellis_proxy_refused_service_ports',
      'Service ports that could not be programmed and are left out',
      this.refused,
    );
    one('gauge', 'trellis_proxy_last_sync_messages', 'Messages or lines that the last sync sent', this.sent);
    for (const endpoint of ['healthz', 'livez'])
      put('counter', `kubeproxy_proxy_${endpoint}_total`, `Answers of ${endpoint}`, [
        ...[...this.health].flatMap(([key, count]) =>
          key.startsWith(`${endpoint} `)
            ? [`kubeproxy_proxy_${endpoint}_total{code="${key.slice(endpoint.length + 1)}"} ${count}`]
            : [],
        ),
      ]);
    return `${lines.join('\n')}\n`;
  }
}
