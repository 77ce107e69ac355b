// The DaemonSet controller: one pod on every node that the template fits.
// Guarantees: with a late cache no node gets two pods; pods that keep ending are replaced ever more slowly.
import type { V1ControllerRevision, V1DaemonSet, V1Node } from '../../api/gen/types.js';
import { keyOf } from '../../api/object.js';
import { sameJson } from '../../api/ownKeys.js';
import { CONTROLLER_REVISIONS, DAEMON_SETS, NODES } from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import { KeyedBackOff } from '../../base/backOff.js';
import type { Informer } from '../../client/informer.js';
import { heldBy, indexByController } from '../claim.js';
import { type Controller, runLoop } from '../controller.js';
import type { Node } from '../node/health.js';
import {
  claimPods,
  createPods,
  deletePods,
  type PodOwners,
  podOwners,
  watchOwnedPods,
} from '../ownedPods.js';
import type { Pod } from '../pods.js';
import {
  deleteRevisions,
  ensureRevision,
  hashOf,
  REVISION_LABEL,
  surplusRevisions,
  watchRevisions,
  withRevisions,
} from '../revisions.js';
import { writeStatus } from '../statusWrite.js';
import { type DaemonSet, daemonPod, targetNode } from './nodes.js';
import { type DaemonSetObserved, planDaemonSet } from './plan.js';
import { daemonSetStatus, nextAvailableInMs } from './status.js';

const FAILED_FIRST_MS = 1_000;
const FAILED_LONGEST_MS = 15 * 60_000;

interface Parts extends PodOwners<V1DaemonSet> {
  readonly nodes: Informer<V1Node>;
  readonly revisions: Informer<V1ControllerRevision>;
  readonly failures: KeyedBackOff;
}

export const daemonSetController: Controller = {
  name: 'daemonset-controller',
  needs: [DAEMON_SETS, CONTROLLER_REVISIONS],
  run(context) {
    const { informers } = context;
    const parts: Parts = {
      ...podOwners(context, {
        type: DAEMON_SETS,
        selectorOf: ({ spec }) => compileLabelSelector(spec.selector),
        failuresCount: false,
      }),
      nodes: informers.of(NODES),
      revisions: informers.of(CONTROLLER_REVISIONS),
      failures: new KeyedBackOff({ firstMs: FAILED_FIRST_MS, longestMs: FAILED_LONGEST_MS }),
    };
    const { queue } = parts;
    indexByController(parts.revisions);
    watchOwnedPods(parts);
    watchRevisions(DAEMON_SETS, parts.revisions, { queue, writes: parts.writes });
    const wakeAll = () => {
      for (const { metadata } of parts.owners.list()) queue.add(keyOf(metadata));
    };
    parts.nodes.on({
      added: wakeAll,
      // A heartbeat changes nothing for us.
      updated: (node, previous) => {
        if (!sameJson(placing(node), placing(previous))) wakeAll();
      },
      deleted: wakeAll,
    });
    return runLoop(context, daemonSetController.name, { queue, reconcile: (key) => reconcile(parts, key) });
  },
};

const placing = ({ metadata, spec }: Node) => [metadata.labels, spec.taints, metadata.name];

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { context, expectations, nodes } = parts;
  const found = withRevisions(parts, key);
  if (found === undefined) return undefined;
  const { owner: set, held } = found;
  const { template } = set.spec;
  const collisionCount = set.status?.collisionCount ?? 0;
  const wish = { type: DAEMON_SETS, owner: set, template, collisionCount, revisions: held };
  const revision = await ensureRevision(parts, wish);
  if (revision === undefined) return countCollision(parts, set);
  const hash = hashOf(revision);
  // Asked before the pods are looked at: what is seen only while they are being claimed is not among them.
  const satisfied = expectations.satisfied(key);
  const pods = await claimPods(parts, set);
  const observed: DaemonSetObserved = { set, nodes: nodes.list(), pods, hash, now: context.now() };
  const outcome = satisfied ? await act(parts, observed) : {};
  await writeStatus(parts, DAEMON_SETS, set, daemonSetStatus({ ...observed, actedOn: satisfied }));
  if (outcome.error !== undefined) throw outcome.error;
  await prune(parts, set, pods, hash);
  const waits = [nextAvailableInMs(observed), outcome.againMs].filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : Math.min(...waits);
}

async function act(
  parts: Parts,
  observed: DaemonSetObserved,
): Promise<{ error?: unknown; againMs?: number }> {
  const { set, hash, now } = observed;
  const { create, remove, ended } = planDaemonSet(observed);
  const waits: number[] = [];
  const due = remove.filter((pod) => {
    if (!ended.includes(pod)) return true;
    const wait = waitFor(parts, set, pod, now);
    if (wait > 0) waits.push(wait);
    return wait === 0;
  });
  const drafts = create.map((name) => daemonPod(set, name, hash));
  const failed = await createPods(parts, set, drafts);
  const error = (await deletePods(parts, set, due)) ?? failed;
  return { error, ...(waits.length === 0 ? {} : { againMs: Math.min(...waits) }) };
}

/** How long a pod that ended must stay, so that one which always fails does not spin. */
function waitFor({ context, failures }: Parts, set: DaemonSet, pod: Pod, now: number): number {
  const key = `${set.metadata.uid}/${set.metadata.generation ?? 0}/${targetNode(pod) ?? ''}`;
  const wait = failures.remainingMs(key, now);
  if (wait > 0) return wait;
  failures.failed(key, now);
  const isFailed = pod.status?.phase === 'Failed';
  const node = targetNode(pod) ?? '';
  context.record(DAEMON_SETS, set, {
    type: isFailed ? 'Warning' : 'Normal',
    reason: isFailed ? 'FailedDaemonPod' : 'SucceededDaemonPod',
    message: isFailed
      ? `Found failed daemon pod ${keyOf(pod.metadata)} on node ${node}, will try to kill it`
      : `Found succeeded daemon pod ${keyOf(pod.metadata)} on node ${node}, will try to delete it`,
  });
  return 0;
}

async function prune(parts: Parts, set: DaemonSet, pods: readonly Pod[], hash: string): Promise<void> {
  const live = new Set([hash, ...pods.map(({ metadata }) => metadata.labels?.[REVISION_LABEL] ?? '')]);
  const surplus = surplusRevisions(heldBy(parts.revisions, set.metadata.uid), {
    isLive: (revision) => live.has(hashOf(revision)),
    limit: set.spec.revisionHistoryLimit ?? 10,
  });
  await deleteRevisions(parts, surplus);
}

/** Another template has the same hash: the count is part of what is hashed. */
async function countCollision(parts: Parts, set: DaemonSet): Promise<undefined> {
  const status = set.status ?? {};
  await writeStatus(parts, DAEMON_SETS, set, { ...status, collisionCount: (status.collisionCount ?? 0) + 1 });
  return undefined;
}
