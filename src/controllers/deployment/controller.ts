// The Deployment controller: carries out the plan through ReplicaSets.
// Guarantees: plans only from a cache that shows its own last writes; a name already taken is told from a collision.
import type { V1Deployment, V1DeploymentStatus, V1Pod, V1ReplicaSet } from '../../api/gen/types.js';
import { controllerOf, keyOf, type Stored } from '../../api/object.js';
import { DEPLOYMENTS, PODS, REPLICA_SETS } from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import { ApiError } from '../../api/status.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Informer } from '../../client/informer.js';
import type { WorkQueue } from '../../client/workQueue.js';
import { candidatesOf, carryOutClaims, heldBy, indexByController, planClaims } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { isFinished } from '../pods.js';
import { putStatus } from '../statusWrite.js';
import { Writes } from '../writes.js';
import { type DeploymentAction, planDeployment } from './plan.js';
import { type Deployment, REVISION, type ReplicaSet, replicasOf, sameTemplate } from './replicaSets.js';
import { deadlineInMs, failedCreateStatus } from './status.js';

export const deploymentController: Controller = {
  name: 'deployment-controller',
  run(context) {
    const deployments = context.informers.of(DEPLOYMENTS);
    const sets = context.informers.of(REPLICA_SETS);
    const pods = context.informers.of(PODS);
    indexByController(sets);
    indexByController(pods);
    const queue = newQueue(context);
    const parts: Parts = { context, deployments, sets, pods, writes: new Writes(context.now) };
    watch(parts, queue);
    return runLoop(context, deploymentController.name, { queue, reconcile: (key) => reconcile(parts, key) });
  },
};

interface Parts {
  readonly context: ControllerContext;
  readonly deployments: Informer<V1Deployment>;
  readonly sets: Informer<V1ReplicaSet>;
  readonly pods: Informer<V1Pod>;
  readonly writes: Writes;
}

function watch({ deployments, sets, pods, writes }: Parts, queue: WorkQueue): void {
  const wake = ({ metadata }: Deployment) => queue.add(keyOf(metadata));
  deployments.on({ added: wake, updated: wake, deleted: wake });
  const wakeOwner = (set: ReplicaSet) => {
    const key = deploymentKeyOf(set);
    if (key !== undefined) return queue.add(key);
    for (const deployment of deployments.list())
      if (
        deployment.metadata.namespace === set.metadata.namespace &&
        compileLabelSelector(deployment.spec.selector)(set.metadata.labels)
      )
        wake(deployment);
  };
  sets.on({
    added: wakeOwner,
    updated: (set, previous) => {
      const before = deploymentKeyOf(previous);
      if (before !== undefined && before !== deploymentKeyOf(set)) queue.add(before);
      wakeOwner(set);
    },
    deleted: (set) => {
      const key = deploymentKeyOf(set);
      if (key === undefined) return;
      writes.gone(key, set.metadata.uid);
      queue.add(key);
    },
  });
  // Recreate waits for the last old pod to be gone, which no ReplicaSet's status tells.
  pods.on({
    deleted: (pod) => {
      const owner = controllerOf(pod);
      if (owner?.kind !== REPLICA_SETS.kind) return;
      const set = sets.get(keyOf({ name: owner.name, namespace: pod.metadata.namespace }));
      const key = set === undefined ? undefined : deploymentKeyOf(set);
      if (key !== undefined && deployments.get(key)?.spec.strategy?.type === 'Recreate') queue.add(key);
    },
  });
}

function deploymentKeyOf(set: ReplicaSet): string | undefined {
  const owner = controllerOf(set);
  if (owner?.kind !== DEPLOYMENTS.kind) return undefined;
  return keyOf({ name: owner.name, namespace: set.metadata.namespace });
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { context, deployments, sets, pods, writes } = parts;
  const deployment = deployments.get(key);
  if (deployment === undefined) {
    writes.forget(key);
    return undefined;
  }
  const candidates = candidatesOf(sets, deployment);
  if (!writes.seen(key, [deployment, ...candidates])) return undefined;
  const matches = compileLabelSelector(deployment.spec.selector);
  const claims = planClaims({ owner: deployment, candidates, matches });
  const ports = { client: context.client, ownerType: DEPLOYMENTS, type: REPLICA_SETS };
  const held = await carryOutClaims(ports, deployment, claims);
  const now = context.now();
  const livePods = ({ metadata }: ReplicaSet) =>
    heldBy(pods, metadata.uid).filter((pod) => !isFinished(pod)).length;
  let latest = deployment;
  for (const action of planDeployment({ deployment, sets: held, livePods, now }))
    latest = await carryOut(parts, latest, action);
  const progressing = latest.status?.conditions?.find(({ type }) => type === 'Progressing');
  const deadline = deadlineInMs(latest, progressing, now);
  return deadline === undefined || deadline === 0 ? undefined : deadline + 1000;
}

/** Returns the Deployment as it is after the action. */
async function carryOut(parts: Parts, deployment: Deployment, action: DeploymentAction): Promise<Deployment> {
  const { client } = parts.context;
  switch (action.do) {
    case 'createReplicaSet':
      await create(parts, deployment, action.replicaSet);
      return deployment;
    case 'updateReplicaSet':
      await update(parts, deployment, action);
      return deployment;
    case 'deleteReplicaSet': {
      const { metadata } = action.set;
      await client.of(REPLICA_SETS).delete(metadata, { preconditions: { uid: metadata.uid } });
      return deployment;
    }
    case 'setRevision': {
      const annotations = { ...deployment.metadata.annotations, [REVISION]: action.revision };
      const wanted = { ...deployment, metadata: { ...deployment.metadata, annotations } };
      return noted(parts, await client.of(DEPLOYMENTS).update(wanted));
    }
    case 'updateStatus':
      return await writeStatus(parts, deployment, action.status);
  }
}

async function writeStatus(
  parts: Parts,
  deployment: Deployment,
  status: V1DeploymentStatus,
): Promise<Deployment> {
  return (await putStatus(parts, DEPLOYMENTS, { ...deployment, status })) ?? deployment;
}

function noted({ writes }: Parts, written: Deployment): Deployment {
  writes.wrote(keyOf(written.metadata), written);
  return written;
}

async function create(parts: Parts, deployment: Deployment, replicaSet: V1ReplicaSet): Promise<void> {
  const { context, writes } = parts;
  const sets = context.client.of(REPLICA_SETS);
  const name = replicaSet.metadata?.name ?? '';
  try {
    const made = await sets.create(replicaSet);
    writes.wrote(keyOf(deployment.metadata), made);
    tellScaled(parts, deployment, made, 0);
  } catch (error) {
    if (!ApiError.is(error, 'AlreadyExists')) {
      tellFailedCreate(parts, deployment, name, error);
      await writeStatus(parts, deployment, failedCreateStatus(deployment, messageOf(error), context.now()));
      throw error;
    }
    const present = await sets.get({ name, namespace: deployment.metadata.namespace });
    const isOurs = controllerOf(present)?.uid === deployment.metadata.uid;
    // Ours and the same: an earlier attempt succeeded and the cache is late.
    if (isOurs && sameTemplate(present.spec.template, deployment.spec.template))
      return writes.wrote(keyOf(deployment.metadata), present);
    const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
    await writeStatus(parts, deployment, { ...deployment.status, collisionCount });
    throw error;
  }
}

function tellFailedCreate(parts: Parts, deployment: Deployment, name: string, error: unknown): void {
  const { record } = parts.context;
  const message = `Failed to create new replica set "${name}": ${messageOf(error)}`;
  record(DEPLOYMENTS, deployment, { type: 'Warning', reason: 'ReplicaSetCreateError', message });
}

async function update(
  parts: Parts,
  deployment: Deployment,
  { set, wanted }: Extract<DeploymentAction, { do: 'updateReplicaSet' }>,
): Promise<void> {
  const written = await parts.context.client.of(REPLICA_SETS).update(wanted);
  parts.writes.wrote(keyOf(deployment.metadata), written);
  if (replicasOf(set) !== replicasOf(wanted)) tellScaled(parts, deployment, wanted, replicasOf(set));
}

function tellScaled(
  { context }: Parts,
  deployment: Deployment,
  set: Stored<V1ReplicaSet>,
  from: number,
): void {
  const to = replicasOf(set);
  if (to === from) return;
  const message = `Scaled ${to > from ? 'up' : 'down'} replica set ${set.metadata.name} from ${from} to ${to}`;
  context.record(DEPLOYMENTS, deployment, { type: 'Normal', reason: 'ScalingReplicaSet', message });
}
