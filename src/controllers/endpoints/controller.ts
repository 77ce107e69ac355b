// The Endpoints controller: the older form of a Service's endpoints, for those who still read it.
// Guarantees: an Endpoints object goes with its Service; Services without selector are left to whoever writes them.
import type { V1Endpoints } from '../../api/gen/types.js';
import { keyOf, nameOfKey, type Stored } from '../../api/object.js';
import { ENDPOINTS, PODS, SERVICES } from '../../api/resources.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { hasOwnEndpoints } from '../endpointSlice/endpoints.js';
import { TriggerTimes } from '../endpointSlice/triggerTime.js';
import { podsOfService, watchServicePods } from '../servicePods.js';
import { Writes } from '../writes.js';
import { WrittenVersions } from '../writtenVersions.js';
import { isManaged, planEndpoints } from './plan.js';

/** Fewer than write slices: what traffic is routed by comes first. */
const WORKERS = 5;

export const endpointsController: Controller = {
  name: 'endpoints-controller',
  run(context) {
    const { informers, client } = context;
    const parts = { services: informers.of(SERVICES), pods: informers.of(PODS) };
    const all = informers.of(ENDPOINTS);
    const queue = newQueue(context);
    const writes = new Writes(context.now);
    const writtenVersions = new WrittenVersions();
    const times = new TriggerTimes();
    const ended = new Set<string>();
    parts.services.on({ deleted: ({ metadata }) => ended.add(keyOf(metadata)) });
    watchServicePods(parts, {
      add(key) {
        writtenVersions.changed(key);
        queue.add(key);
      },
    });
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
        writtenVersions.changed(key);
        times.forget(key);
        // Endpoints made by hand before their Service are left; once a Service has ended, its endpoints end with it.
        if (present !== undefined && (ended.has(key) || isManaged(present)))
          await client.of(ENDPOINTS).delete(nameOfKey(key));
        ended.delete(key);
        return undefined;
      }
      ended.delete(key);
      const held = present === undefined ? [] : [present];
      if (!hasOwnEndpoints(service) || !writes.seen(key, held) || writtenVersions.isAsLeft(key, held))
        return undefined;
      const leave = writtenVersions.begin(key);
      const pods = podsOfService(parts, service);
      const [action] = planEndpoints({ service, pods, present, triggerTime: times.next(key, service, pods) });
      if (action === undefined) leave(held);
      else {
        const written = await client.of(ENDPOINTS)[action.do](action.endpoints);
        writes.wrote(key, written);
        leave([written]);
      }
      return undefined;
    };
    return runLoop(context, endpointsController.name, { queue, workers: WORKERS, reconcile });
  },
};
