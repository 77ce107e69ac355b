// The Job controller: pods until enough of them have succeeded.
// Guarantees: a pod is counted once, also over restarts and late caches; one whose Job is gone is never held back.
import type { V1Job } from '../../api/gen/types.js';
import { controllerOf, keyOf, nameOfKey } from '../../api/object.js';
import { JOBS, PODS } from '../../api/resources.js';
import { compileLabelSelector } from '../../api/selectors.js';
import { ignoring } from '../claim.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import {
  claimPods,
  createPods,
  deletePods,
  type PodOwners,
  podOwners,
  watchOwnedPods,
} from '../ownedPods.js';
import type { Pod } from '../pods.js';
import { writeStatus } from '../statusWrite.js';
import { planJob } from './plan.js';
import { isTracked, type Job, TRACKING } from './pods.js';
import { NO_RETRY, type Retry } from './workers.js';

const NAME = 'job-controller';
const MANAGER = 'kubernetes.io/job-controller';

interface Parts extends PodOwners<V1Job> {
  /** By uid. */
  readonly retries: Map<string, Retry>;
}

export const jobController: Controller = {
  name: NAME,
  needs: [JOBS],
  async run(context) {
    const parts: Parts = {
      ...podOwners(context, {
        type: JOBS,
        selectorOf: ({ spec }) => compileLabelSelector(spec.selector),
        failuresCount: false,
      }),
      retries: new Map(),
    };
    const orphans = newQueue(context);
    watchOwnedPods(parts);
    const lookForJob = (pod: Pod) => {
      if (isTracked(pod) && jobOf(parts, pod) === undefined) orphans.add(keyOf(pod.metadata));
    };
    parts.pods.on({ added: lookForJob, updated: lookForJob });
    parts.owners.on({
      deleted: ({ metadata }) => {
        parts.retries.delete(metadata.uid);
        for (const pod of parts.pods.byIndex('controller', metadata.uid)) lookForJob(pod);
      },
    });
    await Promise.all([
      runLoop(context, NAME, { queue: parts.queue, reconcile: (key) => reconcile(parts, key) }),
      runLoop(context, NAME, { queue: orphans, workers: 1, reconcile: (key) => letOrphanGo(parts, key) }),
    ]);
  },
};

function jobOf({ owners }: Parts, pod: Pod): Job | undefined {
  const owner = controllerOf(pod);
  if (owner?.kind !== JOBS.kind) return undefined;
  const job = owners.get(keyOf({ name: owner.name, namespace: pod.metadata.namespace }));
  return job?.metadata.uid === owner.uid ? job : undefined;
}

/** The cache may be ahead with pods and behind with Jobs: the server decides. */
async function letOrphanGo(parts: Parts, key: string): Promise<undefined> {
  const pod = parts.pods.get(key);
  if (pod === undefined || !isTracked(pod) || jobOf(parts, pod) !== undefined) return undefined;
  const owner = controllerOf(pod);
  if (owner?.kind === JOBS.kind) {
    const name = { name: owner.name, namespace: nameOfKey(key).namespace };
    const live = await ignoring(['NotFound'], parts.context.client.of(JOBS).get(name));
    if (live?.metadata.uid === owner.uid) return undefined;
  }
  await release(parts, [pod]);
  return undefined;
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { context, owners, expectations, writes, retries } = parts;
  const job = owners.get(key);
  if (job === undefined) {
    expectations.forget(key);
    writes.forget(key);
    return undefined;
  }
  if (!writes.seen(key, [job])) return undefined;
  if (job.spec.managedBy !== undefined && job.spec.managedBy !== MANAGER) return undefined;
  // Asked before the pods are looked at: what is seen only while they are being claimed is not among them.
  const mayAct = expectations.satisfied(key);
  const pods = await claimPods(parts, job);
  const { uid } = job.metadata;
  const plan = planJob({
    job,
    pods,
    now: context.now(),
    retry: retries.get(uid) ?? NO_RETRY,
    mayAct,
  });
  await release(parts, plan.remove);
  const failures = [
    await deletePods(parts, job, [...plan.remove, ...plan.end]),
    await createPods(parts, job, plan.create),
  ].filter((error) => error !== undefined);
  await writeStatus(parts, JOBS, job, plan.status);
  retries.set(uid, plan.retry);
  for (const event of plan.events) context.record(JOBS, job, event);
  await release(parts, plan.release);
  if (failures.length > 0) throw failures[0];
  return plan.againMs;
}

/** Lets pods go that have been counted or need not be. */
async function release({ context }: Pick<Parts, 'context'>, pods: readonly Pod[]): Promise<void> {
  const client = context.client.of(PODS);
  const results = await Promise.allSettled(
    pods.filter(isTracked).map(async ({ metadata }) => {
      const finalizers = (metadata.finalizers ?? []).filter((name) => name !== TRACKING);
      const { uid, resourceVersion } = metadata;
      // With the version, so that a finalizer that someone else just added is not lost.
      const patch = { metadata: { uid, resourceVersion, finalizers } };
      await ignoring(['NotFound'], client.patch(metadata, 'merge', patch));
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
