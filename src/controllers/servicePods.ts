// Which Services a pod belongs to, and which pods a Service selects, out of the informers.
// Guarantees: a pod's change wakes every Service it belonged to before or belongs to after.
import type { V1Pod, V1Service } from '../api/gen/types.js';
import { keyOf, type Stored } from '../api/object.js';
import { selectorFromMap } from '../api/selectors.js';
import type { Informer } from '../client/informer.js';
import type { WorkQueue } from '../client/workQueue.js';
import { hasOwnEndpoints } from './endpointSlice/endpoints.js';
import type { Pod } from './pods.js';

const BY_NAMESPACE = 'namespace';

export interface ServicePods {
  readonly services: Informer<V1Service>;
  readonly pods: Informer<V1Pod>;
}

/** Queues the key of every Service whose endpoints a change may touch. */
export function watchServicePods({ services, pods }: ServicePods, queue: WorkQueue): void {
  services.index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? '']);
  pods.index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? '']);
  const wake = ({ metadata }: Stored<V1Service>) => queue.add(keyOf(metadata));
  services.on({ added: wake, updated: wake, deleted: wake });
  const wakeServices = (pod: Pod) => {
    for (const service of services.byIndex(BY_NAMESPACE, pod.metadata.namespace ?? ''))
      if (hasOwnEndpoints(service) && selectorFromMap(service.spec.selector)(pod.metadata.labels))
        wake(service);
  };
  pods.on({
    added: wakeServices,
    updated: (pod, previous) => {
      if (!matters(pod, previous)) return;
      wakeServices(previous);
      wakeServices(pod);
    },
    deleted: wakeServices,
  });
}

export function podsOfService({ pods }: ServicePods, service: Stored<V1Service>): Pod[] {
  const selects = selectorFromMap(service.spec.selector);
  return pods
    .byIndex(BY_NAMESPACE, service.metadata.namespace ?? '')
    .filter(({ metadata }) => selects(metadata.labels));
}

/** Most updates of a pod (heartbeats of its status) change nothing that an endpoint shows. */
function matters(pod: Pod, previous: Pod): boolean {
  const shown = ({ metadata, spec, status }: Pod) =>
    JSON.stringify([
      metadata.labels,
      metadata.deletionTimestamp,
      spec.nodeName,
      status?.phase,
      status?.podIP,
      status?.podIPs,
      status?.conditions?.find(({ type }) => type === 'Ready')?.status,
    ]);
  return shown(pod) !== shown(previous);
}
