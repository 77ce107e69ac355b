// The EndpointSlice mirroring controller: keeps slices for Endpoints that no selector fills.
// Guarantees: touches only slices that carry its own name; plans only on copies that show its last writes.
import { SERVICE_NAME_LABEL } from '../../api/endpointSlice.js';
import type { V1EndpointSlice } from '../../api/gen/types.js';
import { type KubeObject, keyOf, type Stored } from '../../api/object.js';
import { ENDPOINT_SLICES, ENDPOINTS, SERVICES } from '../../api/resources.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { MANAGED_BY } from '../endpointSlice/plan.js';
import { Writes } from '../writes.js';
import { MIRROR, planMirror } from './plan.js';

const NAME = 'endpointslice-mirroring-controller';
const BY_SERVICE = 'mirroredService';

export const endpointSliceMirroringController: Controller = {
  name: NAME,
  run(context) {
    const { client, informers, now } = context;
    const endpoints = informers.of(ENDPOINTS);
    const services = informers.of(SERVICES);
    const slices = informers.of(ENDPOINT_SLICES);
    slices.index(BY_SERVICE, (slice) => keysOf(slice));
    const queue = newQueue(context);
    const writes = new Writes(now);
    const wake = ({ metadata }: Stored<KubeObject>) => queue.add(keyOf(metadata));
    endpoints.on({ added: wake, updated: wake, deleted: wake });
    services.on({ added: wake, updated: wake, deleted: wake });
    const wakeOwner = (slice: Stored<V1EndpointSlice>) => {
      for (const key of keysOf(slice)) queue.add(key);
    };
    slices.on({
      added: wakeOwner,
      updated: wakeOwner,
      deleted: (slice) => {
        for (const key of keysOf(slice)) writes.gone(key, slice.metadata.uid);
        wakeOwner(slice);
      },
    });
    const reconcile = async (key: string): Promise<undefined> => {
      const present = slices.byIndex(BY_SERVICE, key);
      if (!writes.seen(key, present)) return undefined;
      const going = ({ metadata }: Stored<KubeObject>) => metadata.deletionTimestamp !== undefined;
      const actions = planMirror({
        endpoints: endpoints.get(key),
        service: services.get(key),
        slices: present.filter((slice) => !going(slice)),
      });
      const resource = client.of(ENDPOINT_SLICES);
      for (const action of actions) {
        if (action.do === 'create') writes.wrote(key, await resource.create(action.slice));
        else if (action.do === 'update') writes.wrote(key, await resource.update(action.slice));
        else {
          const { metadata } = action.slice;
          await resource.delete(metadata, { preconditions: { uid: metadata.uid } });
        }
      }
      return undefined;
    };
    return runLoop(context, NAME, { queue, reconcile });
  },
};

function keysOf({ metadata }: Stored<V1EndpointSlice>): string[] {
  const name = metadata.labels?.[SERVICE_NAME_LABEL];
  if (name === undefined || metadata.labels?.[MANAGED_BY] !== MIRROR) return [];
  return [keyOf({ name, namespace: metadata.namespace })];
}
