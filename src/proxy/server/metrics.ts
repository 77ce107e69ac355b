// What the proxy serves on its metrics port: /metrics, /proxyMode, /configz, /healthz. Pure.
import type { ProxyMetrics } from '../metrics.js';
import { type Answer, json, notFound } from './http.js';

interface MetricsAnswers {
  readonly metrics: ProxyMetrics;
  readonly mode: string;
  /** As it was settled from defaults, file and flags. */
  readonly config: object;
}

export function metricsAnswer({ metrics, mode, config }: MetricsAnswers): (path: string) => Answer {
  return (path) => {
    switch (path) {
      case '/metrics':
        return {
          status: 200,
          body: metrics.render(),
          headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        };
      case '/proxyMode':
        return { status: 200, body: mode };
      case '/configz':
        return json(200, { 'kubeproxy.config.k8s.io': config });
      case '/healthz':
        return { status: 200, body: 'ok' };
      default:
        return notFound;
    }
  };
}
