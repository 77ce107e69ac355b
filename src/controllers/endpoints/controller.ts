// The Endpoints controller: the older form of a Service's endpoints, for those who still read it.
// Guarantees: an Endpoints object goes with its Service; Services without selector are left to whoever writes them.
import type { V1Endpoints } from '../../api/gen/types.js';
import { keyOf, nameOfKey, type Stored } from '../../api/object.js';
import { ENDPOINTS, PODS, SERVICES } from '../../api/resources.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { hasOwnEndpoints } from '../endpointSlice/endpoints.js';
import { podsOfService, watchServicePods } from '../servicePods.js';
import { Writes } from '../writes.js';
import { isManaged, planEndpoints } from './plan.js';

/** Writes that are under way together share a commit of the store. */
const WORKERS = 20;

export const endpointsController: Controller = {
  name: 'endpoints-controller',
  run(context) {
    const { informers, client } = context;
    const parts = { services: informers.of(SERVICES), pods: informers.of(PODS) };
    const all = informers.of(ENDPOINTS);
    const queue = newQueue(context);
    const writes = new Writes(context.now);
    const ended = new Set<string>();
    parts.services.on({ deleted: ({ metadata }) => ended.add(keyOf(metadata)) });
    watchServicePods(parts, queue);
    const wake = ({ metadata }: Stored<V1Endpoints>) => queue.add(keyOf(metadata));
    all.on({
      added: wake,
      updated: wake,
      deleted: (endpoints) => {
        writes.gone(keyOf(endpoints.metadata), endpoints.metadata.uid);
        wake(endpoints);
      },
    });
    const reconcile = async (key: string): Promise<undefined> => {
      const service = parts.services.get(key);
      const present = all.get(key);
      if (service === undefined) {
        writes.forget(key);
        // Endpoints made by hand before their Service are left; once a Service has ended, its endpoints end with it.
        if (present !== undefined && (ended.has(key) || isManaged(present)))
          await client.of(ENDPOINTS).delete(nameOfKey(key));
        ended.delete(key);
        return undefined;
      }
      ended.delete(key);
      if (!hasOwnEndpoints(service) || !writes.seen(key, present === undefined ? [] : [present]))
        return undefined;
      const pods = podsOfService(parts, service);
      for (const { do: verb, endpoints } of planEndpoints({ service, pods, present }))
        writes.wrote(key, await client.of(ENDPOINTS)[verb](endpoints));
      return undefined;
    };
    return runLoop(context, endpointsController.name, { queue, workers: WORKERS, reconcile });
  },
};
