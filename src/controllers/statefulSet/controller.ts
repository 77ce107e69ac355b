// The StatefulSet controller: pods with names and storage of their own, made and updated in order.
// Guarantees: acts only on a cache that shows its last actions, so the order holds; claims exist before their pod.
import type { V1ControllerRevision, V1PersistentVolumeClaim, V1StatefulSet } from '../../api/gen/types.js';
import { keyOf } from '../../api/object.js';
import { CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS } from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import type { Informer } from '../../client/informer.js';
import { candidatesOf, carryOutClaims, indexByController, planClaims } from '../claim.js';
import { type Controller, runLoop } from '../controller.js';
import { deletePods, type PodOwners, podOwners, watchOwnedPods } from '../ownedPods.js';
import { isTerminating, type Pod } from '../pods.js';
import {
  deleteRevisions,
  ensureRevision,
  type Revision,
  surplusRevisions,
  templateOf,
  watchRevisions,
  withRevisions,
} from '../revisions.js';
import { writeStatus } from '../statusWrite.js';
import { createStatefulPod, keepClaims } from './apply.js';
import { ordinalOf, revisionNameOf, type StatefulSet } from './identity.js';
import { planStatefulSet, type StatefulSetObserved, type Template } from './plan.js';
import { nextAvailableInMs, statefulSetStatus } from './status.js';

interface Parts extends PodOwners<V1StatefulSet> {
  readonly claims: Informer<V1PersistentVolumeClaim>;
  readonly revisions: Informer<V1ControllerRevision>;
}

export const statefulSetController: Controller = {
  name: 'statefulset-controller',
  needs: [STATEFUL_SETS, CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS],
  run(context) {
    const { informers } = context;
    const parts: Parts = {
      ...podOwners(context, {
        type: STATEFUL_SETS,
        selectorOf: ({ spec }) => compileLabelSelector(spec.selector),
      }),
      claims: informers.of(PERSISTENT_VOLUME_CLAIMS),
      revisions: informers.of(CONTROLLER_REVISIONS),
    };
    const { queue } = parts;
    indexByController(parts.revisions);
    watchOwnedPods(parts);
    watchRevisions(STATEFUL_SETS, parts.revisions, { queue, writes: parts.writes });
    // A pod may wait for an earlier one's claim to be gone.
    parts.claims.on({
      deleted: ({ metadata }) => {
        for (const set of parts.owners.list())
          if (set.metadata.namespace === metadata.namespace && metadata.name.includes(set.metadata.name))
            queue.add(keyOf(set.metadata));
      },
    });
    return runLoop(context, statefulSetController.name, { queue, reconcile: (key) => reconcile(parts, key) });
  },
};

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { context, expectations } = parts;
  const found = withRevisions(parts, key);
  if (found === undefined) return undefined;
  const { owner: set, held } = found;
  const update = await updateRevision(parts, set, held);
  if (update === undefined) return countCollision(parts, set);
  const satisfied = expectations.satisfied(key);
  const pods = await claimMembers(parts, set);
  const observed: StatefulSetObserved = {
    set,
    pods,
    current: currentTemplate(set, held, update),
    update,
    now: context.now(),
  };
  const failure = satisfied ? await act(parts, observed) : undefined;
  await writeStatus(
    parts,
    STATEFUL_SETS,
    set,
    statefulSetStatus({ ...observed, actedOn: satisfied && failure === undefined }),
  );
  if (failure !== undefined) throw failure;
  await prune(parts, observed, held);
  return nextAvailableInMs(observed);
}

async function updateRevision(
  parts: Parts,
  set: StatefulSet,
  revisions: readonly Revision[],
): Promise<Template | undefined> {
  const { template } = set.spec;
  const collisionCount = set.status?.collisionCount ?? 0;
  const wish = { type: STATEFUL_SETS, owner: set, template, collisionCount, revisions };
  const revision = await ensureRevision(parts, wish);
  return revision === undefined ? undefined : { revision: revision.metadata.name, template };
}

/** Where the update started from; the new one when that is not known any more. */
function currentTemplate(set: StatefulSet, revisions: readonly Revision[], update: Template): Template {
  const revision = revisions.find(({ metadata }) => metadata.name === set.status?.currentRevision);
  const template = revision === undefined ? undefined : templateOf(revision);
  if (revision === undefined || template === undefined) return update;
  return { revision: revision.metadata.name, template };
}

/** Like any claim of pods, but only pods with one of the set's names are its members. */
async function claimMembers(parts: Parts, set: StatefulSet): Promise<readonly Pod[]> {
  const candidates = candidatesOf(parts.pods, set).filter(
    ({ metadata }) => ordinalOf(set, metadata.name) !== undefined,
  );
  const claims = planClaims({ owner: set, candidates, matches: parts.selectorOf(set) });
  const ports = { client: parts.context.client, ownerType: STATEFUL_SETS, type: PODS };
  return carryOutClaims(ports, set, claims);
}

/** Carries the plan out; the first failure is returned, so that the status can be written all the same. */
async function act(parts: Parts, observed: StatefulSetObserved): Promise<unknown> {
  const { set } = observed;
  try {
    await keepClaims(parts, observed);
    for (const action of planStatefulSet(observed)) {
      if (action.do === 'create') await createStatefulPod(parts, set, action);
      else {
        if (action.why === 'ended') tellEnded(parts, set, action.pod);
        const error = await deletePods(parts, set, [action.pod]);
        if (error !== undefined) return error;
      }
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

function tellEnded({ context }: Parts, set: StatefulSet, { metadata, status }: Pod): void {
  const isFailed = status?.phase === 'Failed';
  context.record(STATEFUL_SETS, set, {
    type: isFailed ? 'Warning' : 'Normal',
    reason: isFailed ? 'RecreatingFailedPod' : 'RecreatingTerminatedPod',
    message: `StatefulSet ${keyOf(set.metadata)} is recreating ${isFailed ? 'failed' : 'terminated'} Pod ${metadata.name}`,
  });
}

async function prune(
  parts: Parts,
  { set, pods, current, update }: StatefulSetObserved,
  revisions: readonly Revision[],
): Promise<void> {
  const used = pods.filter((pod) => !isTerminating(pod)).map(revisionNameOf);
  const live = new Set([current.revision, update.revision, ...used]);
  const surplus = surplusRevisions(revisions, {
    isLive: ({ metadata }) => live.has(metadata.name),
    limit: set.spec.revisionHistoryLimit ?? 10,
  });
  await deleteRevisions(parts, surplus);
}

/** Another template has the same hash: the count is part of what is hashed. */
async function countCollision(parts: Parts, set: StatefulSet): Promise<undefined> {
  const status = set.status ?? { replicas: 0 };
  await writeStatus(parts, STATEFUL_SETS, set, {
    ...status,
    collisionCount: (status.collisionCount ?? 0) + 1,
  });
  return undefined;
}
