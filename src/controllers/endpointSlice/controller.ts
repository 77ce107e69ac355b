// The EndpointSlice controller: a Service's pods, written down for those who route to them.
// Guarantees: plans only from a cache that shows its own last writes; slices managed by others are left alone.
import { SERVICE_NAME_LABEL } from '../../api/endpointSlice.js';
import { keyOf, nameOfKey } from '../../api/object.js';
import { ENDPOINT_SLICES, NODES, PODS, SERVICES } from '../../api/resources.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import type { Node } from '../node/health.js';
import { podsByNode } from '../node/lifecycle.js';
import { podsOfService, watchServicePods } from '../servicePods.js';
import { Settled } from '../settled.js';
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
    const settled = new Settled();
    const times = new TriggerTimes();
    slices.index(BY_SERVICE, (slice) => [serviceKeyOf(slice)].filter((key) => key !== undefined));
    const wakeServices = watchServicePods(parts, {
      add(key) {
        settled.changed(key);
        queue.add(key);
      },
    });
    const podsOn = podsByNode(parts.pods);
    // A node whose zone is told after its pods run: endpoints say it too.
    const wakeNode = ({ metadata }: Node) => podsOn(metadata.name).forEach(wakeServices);
    nodes.on({
      added: wakeNode,
      updated: (node, previous) => {
        if (zoneOf(node) !== zoneOf(previous)) wakeNode(node);
      },
    });
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
        settled.changed(key);
        times.forget(key);
        return undefined;
      }
      if (!hasOwnEndpoints(service) || service.metadata.deletionTimestamp !== undefined) return undefined;
      const present = slices.byIndex(BY_SERVICE, key);
      if (!writes.seen(key, present) || settled.isAsLeft(key, present)) return undefined;
      const leave = settled.begin(key);
      const pods = podsOfService(parts, service);
      const actions = planEndpointSlices({
        service,
        pods,
        triggerTime: times.next(key, service, pods),
        slices: present.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
        zoneOf: (node) => zoneOf(nodes.get(node)),
      });
      const left = new Map(present.map((slice) => [slice.metadata.name, slice]));
      for (const action of actions) {
        const written = await carryOut(context, key, action);
        if (action.do !== 'create') left.delete(action.slice.metadata.name);
        if (written === undefined) continue;
        writes.wrote(key, written);
        left.set(written.metadata.name, written);
      }
      leave([...left.values()]);
      return undefined;
    };
    return runLoop(context, endpointSliceController.name, { queue, workers: WORKERS, reconcile });
  },
};

const zoneOf = (node: Node | undefined) => node?.metadata.labels?.[ZONE];

function serviceKeyOf({ metadata }: Slice): string | undefined {
  const name = metadata.labels?.[SERVICE_NAME_LABEL];
  if (name === undefined || metadata.labels?.[MANAGED_BY] !== MANAGER) return undefined;
  return keyOf({ name, namespace: metadata.namespace });
}

/** Answers the slice as it is now; undefined when it is gone. */
async function carryOut(
  { client }: ControllerContext,
  key: string,
  action: SliceAction,
): Promise<Slice | undefined> {
  const slices = client.of(ENDPOINT_SLICES);
  if (action.do === 'create') return slices.create(action.slice);
  if (action.do === 'update') return slices.update(action.slice);
  const { name, uid } = action.slice.metadata;
  await slices.delete({ name, namespace: nameOfKey(key).namespace }, { preconditions: { uid } });
  return undefined;
}
