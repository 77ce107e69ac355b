// /livez, /readyz and /healthz: checks by Kubernetes' names, each with a path of its own; /metrics/slis counts them.
// Guarantees: answers from memory; why a check failed is not told to whoever asks.

import { statusError } from '../../api/status.js';
import { Counter, Gauge, metricsText } from '../../base/metrics.js';
import { type ApiResponse, textResponse } from '../exchange.js';

interface HealthCheck {
  readonly name: string;
  /** The reason why not, or undefined when all is well. */
  failure(): string | undefined;
}

export const HEALTH_ROOTS = ['healthz', 'livez', 'readyz'] as const;
type HealthRoot = (typeof HEALTH_ROOTS)[number];

/** What the server knows of itself. */
interface Vitals {
  /** The store tells of its changes. */
  isStoreWatched(): boolean;
  /** Everything that a start begins has been done: roles, namespaces, priority classes, what is judged by. */
  isReady(): boolean;
  isEnding(): boolean;
}

/** Done once, at the start: of Kubernetes' hooks those whose work is done here, in its order. */
const HOOKS = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'storage-readiness',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
];

export class Health {
  readonly #checks: Readonly<Record<HealthRoot, readonly HealthCheck[]>>;
  readonly #last = new Map<string, number>();
  readonly #total = new Counter({
    name: 'kubernetes_healthchecks_total',
    help: '[STABLE] This metric records the results of all healthcheck.',
  });

  constructor({ isStoreWatched, isReady, isEnding }: Vitals) {
    const check = (name: string, isWell: () => boolean, why: string): HealthCheck => ({
      name,
      failure: () => (isWell() ? undefined : why),
    });
    const always = [check('ping', () => true, ''), check('log', () => true, '')];
    const store = check('etcd', isStoreWatched, 'the store is not watched');
    const hooks = HOOKS.map((name) => check(`poststarthook/${name}`, isReady, 'not finished'));
    this.#checks = {
      healthz: [...always, store, ...hooks],
      livez: [...always, store, ...hooks],
      readyz: [
        ...always,
        store,
        check('etcd-readiness', isStoreWatched, 'the store is not watched'),
        check('informer-sync', isReady, 'not synced'),
        ...hooks,
        check('shutdown', () => !isEnding(), 'process is shutting down'),
      ],
    };
  }

  /** All paths that are answered here. */
  get paths(): readonly string[] {
    return [
      ...HEALTH_ROOTS.flatMap((root) => [
        `/${root}`,
        ...this.#checks[root].map(({ name }) => `/${root}/${name}`),
      ]),
      '/metrics/slis',
    ];
  }

  /** `one` is the rest of the path, empty for all checks. */
  answer(root: HealthRoot, one: string, query: URLSearchParams): ApiResponse {
    const asked = this.#checks[root].filter(({ name }) => one === '' || name === one);
    if (asked.length === 0)
      throw statusError('NotFound', 'the server could not find the requested resource', {});
    const excluded = new Set(one === '' ? query.getAll('exclude') : []);
    const lines: string[] = [];
    let isWell = true;
    for (const { name, failure } of asked) {
      if (excluded.delete(name)) {
        lines.push(`[+]${name} excluded: ok`);
        continue;
      }
      const passed = failure() === undefined;
      this.#count(root, name, passed);
      isWell &&= passed;
      lines.push(passed ? `[+]${name} ok` : `[-]${name} failed: reason withheld`);
    }
    if (excluded.size > 0) {
      const names = [...excluded].map((name) => JSON.stringify(name)).join(',');
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
    }
    if (!isWell) return one === '' ? textResponse(500, said(root, lines, 'failed')) : withheld();
    const isTold = query.has('verbose') && one === '';
    return textResponse(200, isTold ? said(root, lines, 'passed') : 'ok');
  }

  /** /metrics/slis */
  metrics(): string {
    const last = new Gauge(
      {
        name: 'kubernetes_healthcheck',
        help: '[STABLE] This metric records the result of a single healthcheck.',
      },
      () =>
        [...this.#last].map(([key, value]) => {
          const [type = '', name = ''] = key.split(' ');
          return [{ name, type }, value];
        }),
    );
    return metricsText([last, this.#total]);
  }

  #count(root: HealthRoot, name: string, passed: boolean): void {
    this.#last.set(`${root} ${name}`, passed ? 1 : 0);
    this.#total.add({ name, type: root, status: passed ? 'success' : 'error' });
  }
}

const said = (root: string, lines: readonly string[], end: string) =>
  `${lines.join('\n')}\n${root} check ${end}\n`;
const withheld = () => textResponse(500, 'internal server error: reason withheld\n');
