// The ReplicaSet and ReplicationController controllers: pods in the number asked for.
// Guarantees: with a late cache or a repeated event no pod is made or deleted twice; what it does not own it leaves.
import type {
  V1Pod,
  V1ReplicaSet,
  V1ReplicaSetStatus,
  V1ReplicationController,
} from '../../api/gen/types.js';
import { controllerOf, type KubeObject, type Stored } from '../../api/object.js';
import { REPLICA_SETS, REPLICATION_CONTROLLERS, type ResourceType } from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import { messageOf } from '../../base/errorMessage.js';
import { heldBy, indexByController } from '../claim.js';
import { type Controller, runLoop } from '../controller.js';
import {
  claimPods,
  createPods,
  deletePods,
  type PodOwners,
  podFromTemplate,
  podOwners,
  watchOwnedPods,
} from '../ownedPods.js';
import { type Pod, stampOf } from '../pods.js';
import { sameStatusMeaning } from '../sameStatus.js';
import { putStatus } from '../statusWrite.js';
import { planReplicaSet } from './plan.js';
import { nextAvailableInMs, type ReplicaSetSeen, replicaSetStatus } from './status.js';

type Set = Stored<V1ReplicaSet>;

/** What sets the two kinds apart: their type, and how one reads as a ReplicaSet. */
interface Flavour<T extends KubeObject> {
  readonly name: string;
  readonly type: ResourceType<T>;
  asReplicaSet(object: Stored<T>): Set;
  withStatus(object: Stored<T>, status: V1ReplicaSetStatus): Stored<T>;
}

export const replicaSetController: Controller = replicaController<V1ReplicaSet>({
  name: 'replicaset-controller',
  type: REPLICA_SETS,
  asReplicaSet: (set) => set,
  withStatus: (set, status) => ({ ...set, status }),
});

export const replicationControllerController: Controller = replicaController<V1ReplicationController>({
  name: 'replicationcontroller-controller',
  type: REPLICATION_CONTROLLERS,
  asReplicaSet: (object) => ({
    ...object,
    spec: {
      ...object.spec,
      selector: { matchLabels: object.spec.selector ?? object.spec.template?.metadata?.labels ?? {} },
    },
  }),
  // The older kind does not know of pods that terminate.
  withStatus: (object, { terminatingReplicas: _, ...status }) => ({ ...object, status }),
});

interface Parts<T extends KubeObject> extends PodOwners<T> {
  readonly flavour: Flavour<T>;
}

function replicaController<T extends KubeObject>(flavour: Flavour<T>): Controller {
  const { name, type } = flavour;
  return {
    name,
    needs: [type],
    run(context) {
      const selectorOf = (owner: Stored<T>) =>
        compileLabelSelector(flavour.asReplicaSet(owner).spec.selector);
      const parts: Parts<T> = { ...podOwners(context, { type, selectorOf }), flavour };
      indexByController(parts.owners);
      watchOwnedPods(parts);
      return runLoop(context, name, { queue: parts.queue, reconcile: (key) => reconcile(parts, key) });
    },
  };
}

async function reconcile<T extends KubeObject>(parts: Parts<T>, key: string): Promise<number | undefined> {
  const { context, owners, expectations, writes, flavour } = parts;
  const owner = owners.get(key);
  if (owner === undefined) {
    expectations.forget(key);
    writes.forget(key);
    return undefined;
  }
  if (!writes.seen(key, [owner])) return undefined;
  const satisfied = expectations.satisfied(key);
  const held = await claimPods(parts, owner);
  const now = context.now();
  const set = flavour.asReplicaSet(owner);
  const outcome = satisfied ? await act(parts, owner, held, now) : undefined;
  const seen: ReplicaSetSeen = {
    set,
    // A pod that was just deleted is not counted, though the cache still has it: others spend what is counted.
    pods: held.map((pod) => (expectations.isDeleting(key, pod.metadata.uid) ? asTerminating(pod, now) : pod)),
    now,
    actedOn: satisfied,
    ...(outcome === undefined ? {} : { failure: outcome.failure }),
  };
  await writeStatus(parts, owner, seen);
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
async function act<T extends KubeObject>(
  parts: Parts<T>,
  owner: Stored<T>,
  held: readonly Pod[],
  now: number,
): Promise<Failure | undefined> {
  const set = parts.flavour.asReplicaSet(owner);
  const observed = {
    set,
    pods: held,
    get family() {
      return familyOf(parts, owner, held);
    },
    now,
  };
  for (const action of planReplicaSet(observed)) {
    const isCreate = action.do === 'createPods';
    const error = isCreate
      ? await createPods(
          parts,
          owner,
          new Array<V1Pod>(action.count).fill(podFromTemplate(parts.type, owner, set.spec.template)),
        )
      : await deletePods(parts, owner, action.pods);
    if (error === undefined) continue;
    const reason = isCreate ? 'FailedCreate' : 'FailedDelete';
    return { failure: { reason, message: messageOf(error) }, error };
  }
  return undefined;
}

function familyOf<T extends KubeObject>(
  { owners, pods }: Parts<T>,
  set: Stored<T>,
  held: readonly Pod[],
): readonly Pod[] {
  const owner = controllerOf(set);
  if (owner === undefined) return held;
  return heldBy(owners, owner.uid).flatMap(({ metadata }) => heldBy(pods, metadata.uid));
}

async function writeStatus<T extends KubeObject>(
  parts: Parts<T>,
  owner: Stored<T>,
  seen: ReplicaSetSeen,
): Promise<void> {
  const { type, flavour } = parts;
  const status = replicaSetStatus(seen);
  const old = seen.set.status;
  if (sameStatusMeaning(old, type.kind === 'ReplicaSet' ? status : { ...status, terminatingReplicas: 0 }))
    return;
  const wanted = flavour.withStatus(owner, status);
  await putStatus(parts, type, wanted);
}
