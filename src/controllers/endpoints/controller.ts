// The Endpoints controller: the older form of a Service's endpoints, for those who still read it.
// Guarantees: an Endpoints object goes with its Service; Services without selector are left to whoever writes them.
import { keyOf, nameOfKey } from '../../api/object.js';
import { ENDPOINTS, PODS, SERVICES } from '../../api/resources.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { hasOwnEndpoints } from '../endpointSlice/endpoints.js';
import { podsOfService, watchServicePods } from '../servicePods.js';
import { planEndpoints } from './plan.js';

export const endpointsController: Controller = {
  name: 'endpoints-controller',
  run(context) {
    const { informers, client } = context;
    const parts = { services: informers.of(SERVICES), pods: informers.of(PODS) };
    const all = informers.of(ENDPOINTS);
    const queue = newQueue(context);
    watchServicePods(parts, queue);
    all.on({ deleted: ({ metadata }) => queue.add(keyOf(metadata)) });
    const reconcile = async (key: string): Promise<undefined> => {
      const service = parts.services.get(key);
      if (service === undefined) {
        if (all.get(key) !== undefined) await client.of(ENDPOINTS).delete(nameOfKey(key));
        return undefined;
      }
      if (!hasOwnEndpoints(service)) return undefined;
      const pods = podsOfService(parts, service);
      for (const action of planEndpoints({ service, pods, present: all.get(key) })) {
        // A late cache is answered with a conflict or "already exists", and the key is tried again.
        if (action.do === 'create') await client.of(ENDPOINTS).create(action.endpoints);
        else await client.of(ENDPOINTS).update(action.endpoints);
      }
      return undefined;
    };
    return runLoop(context, endpointsController.name, { queue, reconcile });
  },
};
