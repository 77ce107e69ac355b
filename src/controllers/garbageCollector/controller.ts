// The garbage collector: what belongs to nobody any more goes; owners wait for dependents where that was asked.
// Guarantees: nothing is deleted on a cache's word: the object and every missing owner are asked of the server first; an owner
// counts only in its own namespace; one of a kind that is not served yet is looked for again when a new kind is.
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

/** New kinds may be served at any time; asked for more often while an owner of an unknown kind is waited for. */
const DISCOVERY_PERIOD_MS = 30_000;
const UNKNOWN_OWNER_MS = 3_000;
const NOT_WHOLE_MS = 100;
const METADATA = { metadataOnly: true };

interface Parts {
  readonly context: ControllerContext;
  readonly graph: Graph;
  readonly queue: WorkQueue;
  /** Uids of objects with an owner of a kind that is not known. */
  readonly parked: Set<string>;
}

export const garbageCollector: Controller = {
  name: 'garbage-collector-controller',
  async run(context) {
    const parts = { context, graph: new Graph(), queue: newQueue(context), parked: new Set<string>() };
    const { graph, queue } = parts;
    let nextMs = 0;
    await Promise.all([
      runEvery(context, {
        name: garbageCollector.name,
        periodMs: UNKNOWN_OWNER_MS,
        tick: async () => {
          if (context.now() < nextMs && parts.parked.size === 0) return;
          nextMs = context.now() + DISCOVERY_PERIOD_MS;
          await rediscover(parts);
        },
      }),
      runLoop(context, garbageCollector.name, {
        queue,
        workers: 20,
        reconcile: async (uid) => {
          if (!graph.isWhole(context.now())) return NOT_WHOLE_MS;
          const node = graph.byUid(uid);
          if (node !== undefined) await visit(parts, node);
          return undefined;
        },
      }),
    ]);
  },
};

async function rediscover(parts: Parts): Promise<void> {
  const { context, graph, queue, parked } = parts;
  const { served } = await discover(context.client);
  const found = collectable(served).filter((type) => watch(parts, type));
  if (found.length > 0) {
    for (const uid of parked) queue.add(uid);
    parked.clear();
  }
  const missing = graph.missing(context.now());
  if (missing.length > 0)
    context.log.warn('kinds that cannot be listed are not collected', {
      controller: garbageCollector.name,
      kinds: missing,
    });
}

/** Events are many, own nothing and expire by themselves. */
function collectable(served: readonly ServedResource[]): ServedResource[] {
  return served.filter((type) => has(type, 'list', 'watch', 'delete') && type.kind !== 'Event');
}

/** False when the kind was known. */
function watch({ context, graph, queue }: Parts, served: ServedResource): boolean {
  const { verbs: _, ...type } = served;
  const informer = graph.add(context.informers, type, context.now());
  if (informer === undefined) return false;
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
      for (const { object: dependent } of graph.dependentsOf(object)) queue.add(dependent.metadata.uid);
      wakeOwners(object);
    },
  });
  return true;
}

async function visit(parts: Parts, node: GraphNode): Promise<void> {
  const { context, graph, queue } = parts;
  const { client } = context;
  if (!mayNeedWork(graph, node.object)) return;
  const item = await ignoring(
    ['NotFound'],
    client.of<KubeObject>(node.type).get(node.object.metadata, METADATA),
  );
  if (item === undefined || item.metadata.uid !== node.object.metadata.uid) return;
  const states = new Map<string, OwnerState>();
  for (const owner of item.metadata.ownerReferences ?? [])
    states.set(owner.uid, await stateOf(parts, node, owner));
  const dependents = graph.dependentsOf(item);
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
    return owner === undefined || isWaiting(owner.object) || !mayOwn(owner.object, metadata.namespace);
  });
}

/** An owner counts in its own namespace; one that is in none counts everywhere. */
const mayOwn = ({ metadata }: Stored<KubeObject>, namespace: string | undefined): boolean =>
  metadata.namespace === undefined || metadata.namespace === namespace;

async function stateOf(
  { context, graph, parked }: Parts,
  { type, object }: GraphNode,
  owner: V1OwnerReference,
): Promise<OwnerState> {
  const { client, log } = context;
  const { namespace, uid } = object.metadata;
  const cached = graph.byUid(owner.uid);
  if (cached !== undefined && mayOwn(cached.object, namespace))
    return isWaiting(cached.object) ? 'waiting' : 'solid';
  const ownerType = cached?.type ?? graph.typeOf(owner);
  // A kind that is not served yet, or an owner in a namespace for an object outside any: nothing can be known, so it stays.
  if (ownerType === undefined || (ownerType.namespaced && !type.namespaced)) {
    log.debug('owner cannot be looked up', {
      kind: owner.kind,
      name: owner.name,
      of: keyOf(object.metadata),
    });
    if (ownerType === undefined) parked.add(uid);
    return 'solid';
  }
  const place = ownerType.namespaced ? { name: owner.name, namespace } : { name: owner.name };
  const live = await ignoring(['NotFound'], client.of<KubeObject>(ownerType).get(place, METADATA));
  if (live?.metadata.uid === owner.uid) return isWaiting(live) ? 'waiting' : 'solid';
  if (cached !== undefined)
    context.record(type, object, {
      type: 'Warning',
      reason: 'OwnerRefInvalidNamespace',
      message: `${owner.kind} ${owner.name} (uid ${owner.uid}) is no owner here: it is not in namespace "${namespace}"`,
    });
  return 'absent';
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
