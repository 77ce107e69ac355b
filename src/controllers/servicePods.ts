// Which Services a pod belongs to, and which pods a Service selects, out of the informers.
// Guarantees: a pod's change wakes every Service it belonged to before or belongs to after.
import type { V1Pod, V1Service } from '../api/gen/types.js';
import { type KubeObject, keyOf, type Stored } from '../api/object.js';
import { selectorFromMap } from '../api/selectors.js';
import type { Informer } from '../client/informer.js';
import type { WorkQueue } from '../client/workQueue.js';
import { hasOwnEndpoints } from './endpointSlice/endpoints.js';
import type { Pod } from './pods.js';

const BY_LABEL = 'label';

interface ServicePods {
  readonly services: Informer<V1Service>;
  readonly pods: Informer<V1Pod>;
}

/** Queues the key of every Service whose endpoints a change may touch. Answers what queues the Services of a pod. */
export function watchServicePods(
  { services, pods }: ServicePods,
  queue: Pick<WorkQueue, 'add'>,
): (pod: Pod) => void {
  // One label of the selector is enough to find a Service by: whatever it selects has that label.
  services.index(BY_LABEL, (service) => labelKeys(service, service.spec.selector).slice(0, 1));
  pods.index(BY_LABEL, (pod) => labelKeys(pod, pod.metadata.labels));
  const wake = ({ metadata }: Stored<V1Service>) => queue.add(keyOf(metadata));
  services.on({ added: wake, updated: wake, deleted: wake });
  const wakeServices = (pod: Pod) => {
    for (const key of labelKeys(pod, pod.metadata.labels))
      for (const service of services.byIndex(BY_LABEL, key))
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
  return wakeServices;
}

export function podsOfService({ pods }: ServicePods, service: Stored<V1Service>): Pod[] {
  const selects = selectorFromMap(service.spec.selector);
  const candidates = labelKeys(service, service.spec.selector).map((key) => pods.byIndex(BY_LABEL, key));
  const [fewest = []] = candidates.sort((one, other) => one.length - other.length);
  return fewest.filter(({ metadata }) => selects(metadata.labels));
}

function labelKeys(
  { metadata }: Stored<KubeObject>,
  labels: Readonly<Record<string, string>> = {},
): string[] {
  return Object.entries(labels).map(([name, value]) => `${metadata.namespace ?? ''}/${name}=${value}`);
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
