// The ReplicaSet controller: pods in the number asked for.
// Guarantees: with a late cache or a repeated event no pod is made or deleted twice; what it does not own it leaves.
import type { V1Pod, V1ReplicaSet } from '../../api/gen/types.js';
import { controllerOf, keyOf, type Stored } from '../../api/object.js';
import { PODS, REPLICA_SETS } from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import { ApiError } from '../../api/status.js';
import type { Informer } from '../../client/informer.js';
import type { WorkQueue } from '../../client/workQueue.js';
import { candidatesOf, carryOutClaims, heldBy, ignoring, indexByController, planClaims } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { Expectations } from '../expectations.js';
import { isTerminating, type Pod, stampOf } from '../pods.js';
import { slowStart } from '../slowStart.js';
import { Writes } from '../writes.js';
import { planReplicaSet, podOf } from './plan.js';
import { nextAvailableInMs, type ReplicaSetSeen, replicaSetStatus, sameStatus } from './status.js';

type Set = Stored<V1ReplicaSet>;

export const replicaSetController: Controller = {
  name: 'replicaset-controller',
  run(context) {
    const sets = context.informers.of(REPLICA_SETS);
    const pods = context.informers.of(PODS);
    indexByController(pods);
    indexByController(sets);
    const queue = newQueue(context);
    const expectations = new Expectations(context.now);
    const writes = new Writes(context.now);
    watchSets(sets, queue, expectations);
    watchPods(pods, sets, queue, expectations);
    return runLoop(context, replicaSetController.name, {
      queue,
      reconcile: (key) => reconcile({ context, sets, pods, expectations, writes }, key),
    });
  },
};

interface Parts {
  readonly context: ControllerContext;
  readonly sets: Informer<V1ReplicaSet>;
  readonly pods: Informer<V1Pod>;
  readonly expectations: Expectations;
  readonly writes: Writes;
}

function watchSets(sets: Informer<V1ReplicaSet>, queue: WorkQueue, expectations: Expectations): void {
  sets.on({
    added: (set) => queue.add(keyOf(set.metadata)),
    updated: (set) => queue.add(keyOf(set.metadata)),
    deleted: (set) => {
      expectations.forget(keyOf(set.metadata));
      queue.add(keyOf(set.metadata));
    },
  });
}

/** A pod wakes its set; a pod without one wakes every set that might take it in. */
function watchPods(
  pods: Informer<V1Pod>,
  sets: Informer<V1ReplicaSet>,
  queue: WorkQueue,
  expectations: Expectations,
): void {
  const setKeyOf = (pod: Pod): string | undefined => {
    const owner = controllerOf(pod);
    return owner?.kind === REPLICA_SETS.kind
      ? keyOf({ name: owner.name, namespace: pod.metadata.namespace })
      : undefined;
  };
  const wakeAdopters = (pod: Pod) => {
    if (controllerOf(pod) !== undefined || isTerminating(pod)) return;
    for (const set of sets.list())
      if (
        set.metadata.namespace === pod.metadata.namespace &&
        compileLabelSelector(set.spec.selector)(pod.metadata.labels)
      )
        queue.add(keyOf(set.metadata));
  };
  const gone = (pod: Pod) => {
    const key = setKeyOf(pod);
    if (key === undefined) return;
    expectations.observedDelete(key, pod.metadata.uid);
    queue.add(key);
  };
  pods.on({
    added: (pod) => {
      const key = setKeyOf(pod);
      if (key === undefined) return wakeAdopters(pod);
      expectations.observedCreate(key, pod.metadata.uid);
      if (isTerminating(pod)) expectations.observedDelete(key, pod.metadata.uid);
      queue.add(key);
    },
    updated: (pod, previous) => {
      const before = setKeyOf(previous);
      const key = setKeyOf(pod);
      if (before !== undefined && before !== key) queue.add(before);
      if (isTerminating(pod)) return gone(pod);
      if (key !== undefined) queue.add(key);
      else wakeAdopters(pod);
    },
    deleted: gone,
  });
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { context, sets, pods, expectations, writes } = parts;
  const set = sets.get(key);
  if (set === undefined) {
    expectations.forget(key);
    writes.forget(key);
    return undefined;
  }
  if (!writes.seen(key, [set])) return undefined;
  const satisfied = expectations.satisfied(key);
  const candidates = candidatesOf(pods, set);
  const matches = compileLabelSelector(set.spec.selector);
  const claims = planClaims({ owner: set, candidates, matches });
  const ports = { client: context.client, ownerType: REPLICA_SETS, type: PODS };
  const held = await carryOutClaims(ports, set, claims);
  const now = context.now();
  const outcome = satisfied ? await act(parts, set, held, now) : undefined;
  const seen: ReplicaSetSeen = {
    set,
    // A pod that was just deleted is not counted, though the cache still has it: others spend what is counted.
    pods: held.map((pod) => (expectations.isDeleting(key, pod.metadata.uid) ? asTerminating(pod, now) : pod)),
    now,
    actedOn: satisfied,
    ...(outcome === undefined ? {} : { failure: outcome.failure }),
  };
  await writeStatus(parts, seen);
  if (outcome !== undefined) throw outcome.error;
  return nextAvailableInMs(seen);
}

function asTerminating(pod: Pod, now: number): Pod {
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: stampOf(now) } };
}

interface Failure {
  readonly failure: NonNullable<ReplicaSetSeen['failure']>;
  readonly error: unknown;
}

/** Carries the plan out; a failure is returned, so that the status can tell of it first. */
async function act(parts: Parts, set: Set, held: readonly Pod[], now: number): Promise<Failure | undefined> {
  const family = familyOf(parts, set, held);
  for (const action of planReplicaSet({ set, pods: held, family, now })) {
    const error =
      action.do === 'createPods'
        ? await create(parts, set, action.count)
        : await remove(parts, set, action.pods);
    if (error === undefined) continue;
    const reason = action.do === 'createPods' ? 'FailedCreate' : 'FailedDelete';
    return { failure: { reason, message: messageOf(error) }, error };
  }
  return undefined;
}

function familyOf({ sets, pods }: Parts, set: Set, held: readonly Pod[]): readonly Pod[] {
  const owner = controllerOf(set);
  if (owner === undefined) return held;
  return heldBy(sets, owner.uid).flatMap(({ metadata }) => heldBy(pods, metadata.uid));
}

async function create({ context, expectations }: Parts, set: Set, count: number): Promise<unknown> {
  const key = keyOf(set.metadata);
  const pods = context.client.of(PODS);
  expectations.expectCreates(key, count);
  const { skipped, error } = await slowStart(count, async () => {
    try {
      const pod = await pods.create(podOf(set));
      expectations.created(key, pod.metadata.uid);
      const message = `Created pod: ${pod.metadata.name}`;
      context.record(REPLICA_SETS, set, { type: 'Normal', reason: 'SuccessfulCreate', message });
    } catch (error) {
      expectations.notCreated(key);
      // The namespace is going away: nothing can be made in it, and that is no news for the user.
      if (isNamespaceGoing(error)) return;
      const message = `Error creating: ${messageOf(error)}`;
      context.record(REPLICA_SETS, set, { type: 'Warning', reason: 'FailedCreate', message });
      throw error;
    }
  });
  for (let index = 0; index < skipped; index++) expectations.notCreated(key);
  return error;
}

async function remove({ context, expectations }: Parts, set: Set, pods: readonly Pod[]): Promise<unknown> {
  const key = keyOf(set.metadata);
  expectations.expectDeletes(
    key,
    pods.map(({ metadata }) => metadata.uid),
  );
  const results = await Promise.allSettled(
    pods.map(async ({ metadata }) => {
      try {
        await context.client.of(PODS).delete(metadata, { preconditions: { uid: metadata.uid } });
      } catch (error) {
        expectations.observedDelete(key, metadata.uid);
        // Another pod of that name: the one that was meant is gone.
        if (ApiError.is(error, 'Conflict')) return;
        const message = `Error deleting: ${messageOf(error)}`;
        context.record(REPLICA_SETS, set, { type: 'Warning', reason: 'FailedDelete', message });
        throw error;
      }
      const message = `Deleted pod: ${metadata.name}`;
      context.record(REPLICA_SETS, set, { type: 'Normal', reason: 'SuccessfulDelete', message });
    }),
  );
  return results.find((result) => result.status === 'rejected')?.reason;
}

async function writeStatus({ context, writes }: Parts, seen: ReplicaSetSeen): Promise<void> {
  const status = replicaSetStatus(seen);
  if (sameStatus(seen.set.status, status)) return;
  const update = context.client.of(REPLICA_SETS).update({ ...seen.set, status }, { subresource: 'status' });
  const written = await ignoring(['NotFound'], update);
  if (written !== undefined) writes.wrote(keyOf(seen.set.metadata), written);
}

function isNamespaceGoing(error: unknown): boolean {
  return (
    ApiError.is(error, 'Forbidden') &&
    (error.status.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
