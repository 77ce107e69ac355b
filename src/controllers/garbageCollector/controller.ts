// The garbage collector: what belongs to nobody any more goes; owners wait for dependents where that was asked.
// Guarantees: nothing is deleted on a cache's word: the object and every missing owner are asked of the server first.
import type { V1OwnerReference } from '../../api/gen/types.js';
import { type KubeObject, keyOf, type Stored } from '../../api/object.js';
import type { WorkQueue } from '../../client/workQueue.js';
import { ignoring } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runEvery, runLoop } from '../controller.js';
import { discover, has, type ServedResource } from '../discovery.js';
import { Graph, type GraphNode } from './graph.js';
import {
  type ItemAction,
  isWaiting,
  ORPHAN,
  type OwnerState,
  ownersUnblocked,
  ownersWithout,
  planItem,
} from './plan.js';

/** New kinds may be served at any time. */
const DISCOVERY_PERIOD_MS = 30_000;
const NOT_WHOLE_MS = 100;
const METADATA = { metadataOnly: true };

export const garbageCollector: Controller = {
  name: 'garbage-collector-controller',
  async run(context) {
    const graph = new Graph();
    const queue = newQueue(context);
    const rediscover = async () => {
      for (const type of collectable(await discover(context.client))) watch(context, graph, type, queue);
    };
    await Promise.all([
      runEvery(context, {
        name: garbageCollector.name,
        periodMs: DISCOVERY_PERIOD_MS,
        tick: rediscover,
      }),
      runLoop(context, garbageCollector.name, {
        queue,
        workers: 20,
        reconcile: async (uid) => {
          if (!graph.isWhole()) return NOT_WHOLE_MS;
          const node = graph.byUid(uid);
          if (node !== undefined) await visit(context, graph, queue, node);
          return undefined;
        },
      }),
    ]);
  },
};

/** Events are many, own nothing and expire by themselves. */
export function collectable(served: readonly ServedResource[]): ServedResource[] {
  return served.filter((type) => has(type, 'list', 'watch', 'delete') && type.kind !== 'Event');
}

function watch(
  { informers }: ControllerContext,
  graph: Graph,
  served: ServedResource,
  queue: WorkQueue,
): void {
  const { verbs: _, ...type } = served;
  const informer = graph.add(informers, type);
  if (informer === undefined) return;
  const wake = ({ metadata }: Stored<KubeObject>) => {
    const owned = (metadata.ownerReferences ?? []).length > 0;
    if (owned || metadata.deletionTimestamp !== undefined) queue.add(metadata.uid);
  };
  const wakeOwners = ({ metadata }: Stored<KubeObject>) => {
    for (const { uid } of metadata.ownerReferences ?? []) queue.add(uid);
  };
  informer.on({
    added: wake,
    updated: (object, previous) => {
      wake(object);
      // A reference that was taken away may be the one an owner waited for.
      wakeOwners(previous);
    },
    deleted: (object) => {
      for (const { object: dependent } of graph.dependentsOf(object.metadata.uid))
        queue.add(dependent.metadata.uid);
      wakeOwners(object);
    },
  });
}

async function visit(
  context: ControllerContext,
  graph: Graph,
  queue: WorkQueue,
  node: GraphNode,
): Promise<void> {
  const { client } = context;
  if (!mayNeedWork(graph, node.object)) return;
  const item = await ignoring(
    ['NotFound'],
    client.of<KubeObject>(node.type).get(node.object.metadata, METADATA),
  );
  if (item === undefined || item.metadata.uid !== node.object.metadata.uid) return;
  const states = new Map<string, OwnerState>();
  for (const owner of item.metadata.ownerReferences ?? [])
    states.set(owner.uid, await stateOf(context, graph, node, owner));
  const dependents = graph.dependentsOf(item.metadata.uid);
  const actions = planItem({
    item,
    ownerState: ({ uid }) => states.get(uid) ?? 'solid',
    dependents: dependents.map(({ object }) => object),
  });
  const nodeOf = (object: Stored<KubeObject>) => dependents.find((dependent) => dependent.object === object);
  for (const action of actions)
    await carryOut(context, queue, { type: node.type, object: item }, action, nodeOf);
}

/** Most objects have owners that are there: those cost no request. */
function mayNeedWork(graph: Graph, { metadata }: Stored<KubeObject>): boolean {
  if (metadata.deletionTimestamp !== undefined)
    return (metadata.finalizers ?? []).some((name) => name === ORPHAN || name === 'foregroundDeletion');
  return (metadata.ownerReferences ?? []).some(({ uid }) => {
    const owner = graph.byUid(uid);
    return owner === undefined || isWaiting(owner.object);
  });
}

async function stateOf(
  { client, log }: ControllerContext,
  graph: Graph,
  { type, object }: GraphNode,
  owner: V1OwnerReference,
): Promise<OwnerState> {
  const cached = graph.byUid(owner.uid);
  if (cached !== undefined) return isWaiting(cached.object) ? 'waiting' : 'solid';
  const ownerType = graph.typeOf(owner);
  // A kind that is not served, or an owner in a namespace for an object outside any: nothing can be known, so it stays.
  if (ownerType === undefined || (ownerType.namespaced && !type.namespaced)) {
    log.debug('owner cannot be looked up', {
      kind: owner.kind,
      name: owner.name,
      of: keyOf(object.metadata),
    });
    return 'solid';
  }
  const namespace = ownerType.namespaced ? object.metadata.namespace : undefined;
  const live = await ignoring(
    ['NotFound'],
    client.of<KubeObject>(ownerType).get({ name: owner.name, namespace }, METADATA),
  );
  if (live?.metadata.uid !== owner.uid) return 'absent';
  return isWaiting(live) ? 'waiting' : 'solid';
}

async function carryOut(
  { client }: ControllerContext,
  queue: WorkQueue,
  { type, object }: GraphNode,
  action: ItemAction,
  nodeOf: (dependent: Stored<KubeObject>) => GraphNode | undefined,
): Promise<void> {
  const { uid, resourceVersion } = object.metadata;
  const setOwners = async (node: GraphNode, ownerReferences: readonly V1OwnerReference[]) => {
    const { metadata } = node.object;
    const patch = {
      metadata: { resourceVersion: metadata.resourceVersion, uid: metadata.uid, ownerReferences },
    };
    await ignoring(['NotFound'], client.of<KubeObject>(node.type).patch(metadata, 'merge', patch));
  };
  switch (action.do) {
    case 'delete': {
      const { propagationPolicy } = action;
      // Changed since it was read: someone may have taken it in, so it is looked at again.
      const preconditions = { uid, resourceVersion };
      await client.of<KubeObject>(type).delete(object.metadata, { propagationPolicy, preconditions });
      return;
    }
    case 'setOwners':
      return setOwners({ type, object }, action.owners);
    case 'setFinalizers': {
      const patch = { metadata: { resourceVersion, uid, finalizers: action.finalizers } };
      await ignoring(['NotFound'], client.of<KubeObject>(type).patch(object.metadata, 'merge', patch));
      return;
    }
    case 'visit':
      return queue.add(action.dependent.metadata.uid);
    case 'orphan':
    case 'unblock': {
      const node = nodeOf(action.dependent);
      const owners = action.do === 'orphan' ? ownersWithout : ownersUnblocked;
      if (node !== undefined) await setOwners(node, owners(action.dependent, uid));
    }
  }
}
