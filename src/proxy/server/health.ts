// Whether the proxy does its work: /healthz for load balancers of the cluster, /livez for whoever may restart it.
// Guarantees: healthy means that no change has waited longer than two sync periods, and (healthz) that the node stays.
import type { V1Node } from '../../api/gen/types.js';
import type { NodeProxy } from '../proxy.js';
import { type Answer, json, notFound } from './http.js';

const TO_BE_DELETED_TAINT = 'ToBeDeletedByClusterAutoscaler';

interface HealthOptions {
  readonly proxy: Pick<NodeProxy, 'waitingMs' | 'metrics' | 'tracker'>;
  readonly syncPeriodMs: number;
  now?(): Date;
}

interface Health {
  isHealthy(): boolean;
  answer(path: string): Answer;
}

export function makeHealth({ proxy, syncPeriodMs, now = () => new Date() }: HealthOptions): Health {
  const isHealthy = () => proxy.metrics.lastSync > 0 && proxy.waitingMs() <= 2 * syncPeriodMs;
  return {
    isHealthy,
    answer(path) {
      if (path !== '/healthz' && path !== '/livez') return notFound;
      const nodeEligible = isEligible(proxy.tracker.node());
      const isWell = isHealthy() && (path === '/livez' || nodeEligible);
      const status = isWell ? 200 : 503;
      proxy.metrics.countHealth(path === '/healthz' ? 'healthz' : 'livez', status);
      const { lastSync } = proxy.metrics;
      return json(status, {
        lastUpdated: lastSync === 0 ? null : new Date(lastSync).toISOString(),
        currentTime: now().toISOString(),
        ...(path === '/healthz' ? { nodeEligible } : {}),
      });
    },
  };
}

/** A node that is going away takes no new traffic from outside. */
function isEligible(node: V1Node | undefined): boolean {
  if (node === undefined) return true;
  if (node.metadata?.deletionTimestamp !== undefined) return false;
  return !(node.spec?.taints ?? []).some(({ key }) => key === TO_BE_DELETED_TAINT);
}
