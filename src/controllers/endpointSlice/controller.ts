// The EndpointSlice controller: a Service's pods, written down for those who route to them.
// Guarantees: plans only from a cache that shows its own last writes; slices managed by others are left alone.

import { SERVICE_NAME_LABEL } from '../../api/endpointSlice.js';
import type { V1EndpointSlice, V1Node, V1Pod, V1Service } from '../../api/gen/types.js';
import { keyOf, nameOfKey } from '../../api/object.js';
import { ENDPOINT_SLICES, NODES, PODS, SERVICES } from '../../api/resources.js';
import type { Informer } from '../../client/informer.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import type { Node } from '../node/health.js';
import { podsByNode } from '../node/lifecycle.js';
import type { Pod } from '../pods.js';
import { podsOfService, watchServicePods } from '../servicePods.js';
import { Writes } from '../writes.js';
import { WrittenVersions } from '../writtenVersions.js';
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
    const services = new ServiceSlices({ context, parts, slices, nodes });
    const wakeServices = watchServicePods(parts, {
      add(key) {
        services.changed(key);
        queue.add(key);
      },
    });
    watchZones(nodes, parts.pods, wakeServices);
    const wake = (slice: Slice) => {
      const key = serviceKeyOf(slice);
      if (key !== undefined) queue.add(key);
    };
    slices.on({
      added: wake,
      updated: wake,
      deleted: (slice) => {
        services.gone(slice);
        wake(slice);
      },
    });
    const reconcile = (key: string) => services.reconcile(key);
    return runLoop(context, endpointSliceController.name, { queue, workers: WORKERS, reconcile });
  },
};

/** A node whose zone is told after its pods run: endpoints say it too. */
function watchZones(nodes: Informer<V1Node>, pods: Informer<V1Pod>, wakeServices: (pod: Pod) => void): void {
  const podsOn = podsByNode(pods);
  const wakeNode = ({ metadata }: Node) => podsOn(metadata.name).forEach(wakeServices);
  nodes.on({
    added: wakeNode,
    updated: (node, previous) => {
      if (zoneOf(node) !== zoneOf(previous)) wakeNode(node);
    },
  });
}

interface ServiceSlicesOptions {
  readonly context: ControllerContext;
  readonly parts: { readonly services: Informer<V1Service>; readonly pods: Informer<V1Pod> };
  readonly slices: Informer<V1EndpointSlice>;
  readonly nodes: Informer<V1Node>;
}

/** Brings the slices of one Service at a time to what its pods are, and knows what it has written itself. */
class ServiceSlices {
  readonly #options: ServiceSlicesOptions;
  readonly #writes: Writes;
  readonly #writtenVersions = new WrittenVersions();
  readonly #times = new TriggerTimes();

  constructor(options: ServiceSlicesOptions) {
    this.#options = options;
    this.#writes = new Writes(options.context.now);
    options.slices.index(BY_SERVICE, (slice) => [serviceKeyOf(slice)].filter((key) => key !== undefined));
  }

  changed(key: string): void {
    this.#writtenVersions.changed(key);
  }

  gone(slice: Slice): void {
    const key = serviceKeyOf(slice);
    if (key !== undefined) this.#writes.gone(key, slice.metadata.uid);
  }

  async reconcile(key: string): Promise<undefined> {
    const { parts, slices, nodes } = this.#options;
    const service = parts.services.get(key);
    if (service === undefined) return this.#forget(key);
    if (!hasOwnEndpoints(service) || service.metadata.deletionTimestamp !== undefined) return undefined;
    const present = slices.byIndex(BY_SERVICE, key);
    if (!this.#writes.seen(key, present) || this.#writtenVersions.isAsLeft(key, present)) return undefined;
    const leave = this.#writtenVersions.begin(key);
    const pods = podsOfService(parts, service);
    const actions = planEndpointSlices({
      service,
      pods,
      triggerTime: this.#times.next(key, service, pods),
      slices: present.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
      zoneOf: (node) => zoneOf(nodes.get(node)),
    });
    leave(await this.#write(key, actions, present));
    return undefined;
  }

  #forget(key: string): undefined {
    this.#writes.forget(key);
    this.#writtenVersions.changed(key);
    this.#times.forget(key);
    return undefined;
  }

  /** Answers the slices as they are left. */
  async #write(key: string, actions: readonly SliceAction[], present: readonly Slice[]): Promise<Slice[]> {
    const left = new Map(present.map((slice) => [slice.metadata.name, slice]));
    for (const action of actions) {
      const written = await carryOut(this.#options.context, key, action);
      if (action.do !== 'create') left.delete(action.slice.metadata.name);
      if (written === undefined) continue;
      this.#writes.wrote(key, written);
      left.set(written.metadata.name, written);
    }
    return [...left.values()];
  }
}

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
