// The EndpointSlice controller: a Service's pods, written down for those who route to them.
// Guarantees: plans only from a cache that shows its own last writes; slices managed by others are left alone.
import { SERVICE_NAME_LABEL } from '../../api/endpointSlice.js';
import { keyOf, nameOfKey } from '../../api/object.js';
import { ENDPOINT_SLICES, NODES, PODS, SERVICES } from '../../api/resources.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { podsOfService, watchServicePods } from '../servicePods.js';
import { Writes } from '../writes.js';
import { hasOwnEndpoints } from './endpoints.js';
import { MANAGED_BY, MANAGER, planEndpointSlices, type Slice, type SliceAction } from './plan.js';
import { TriggerTimes } from './triggerTime.js';

const BY_SERVICE = 'service';
const ZONE = 'topology.kubernetes.io/zone';

/** Writes that are under way together share a commit of the store. */
const WORKERS = 20;

export const endpointSliceController: Controller = {
  name: 'endpointslice-controller',
  run(context) {
    const { informers } = context;
    const parts = { services: informers.of(SERVICES), pods: informers.of(PODS) };
    const slices = informers.of(ENDPOINT_SLICES);
    const nodes = informers.of(NODES);
    const queue = newQueue(context);
    const writes = new Writes(context.now);
    const times = new TriggerTimes();
    slices.index(BY_SERVICE, (slice) => [serviceKeyOf(slice)].filter((key) => key !== undefined));
    watchServicePods(parts, queue);
    const wake = (slice: Slice) => {
      const key = serviceKeyOf(slice);
      if (key !== undefined) queue.add(key);
    };
    slices.on({
      added: wake,
      updated: wake,
      deleted: (slice) => {
        const key = serviceKeyOf(slice);
        if (key !== undefined) writes.gone(key, slice.metadata.uid);
        wake(slice);
      },
    });
    const reconcile = async (key: string): Promise<undefined> => {
      const service = parts.services.get(key);
      if (service === undefined) {
        writes.forget(key);
        times.forget(key);
        return undefined;
      }
      if (!hasOwnEndpoints(service) || service.metadata.deletionTimestamp !== undefined) return undefined;
      const present = slices.byIndex(BY_SERVICE, key);
      if (!writes.seen(key, present)) return undefined;
      const pods = podsOfService(parts, service);
      const actions = planEndpointSlices({
        ...{ service, pods, triggerTime: times.next(key, service, pods) },
        slices: present.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
        zoneOf: (node) => nodes.get(node)?.metadata.labels?.[ZONE],
      });
      for (const action of actions) await carryOut(context, writes, key, action);
      return undefined;
    };
    return runLoop(context, endpointSliceController.name, { queue, workers: WORKERS, reconcile });
  },
};

function serviceKeyOf({ metadata }: Slice): string | undefined {
  const name = metadata.labels?.[SERVICE_NAME_LABEL];
  if (name === undefined || metadata.labels?.[MANAGED_BY] !== MANAGER) return undefined;
  return keyOf({ name, namespace: metadata.namespace });
}

async function carryOut({ client }: ControllerContext, writes: Writes, key: string, action: SliceAction) {
  const slices = client.of(ENDPOINT_SLICES);
  if (action.do === 'create') writes.wrote(key, await slices.create(action.slice));
  else if (action.do === 'update') writes.wrote(key, await slices.update(action.slice));
  else {
    const { name, uid } = action.slice.metadata;
    await slices.delete({ name, namespace: nameOfKey(key).namespace }, { preconditions: { uid } });
  }
}
