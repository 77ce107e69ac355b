// The CronJob controller: Jobs at the times of a schedule.
// Guarantees: a time is started once, also by two controllers or after a restart, since its Job has one name.
import type { V1CronJob, V1CronJobStatus, V1Job } from '../../api/gen/types.js';
import { controllerOf, keyOf } from '../../api/object.js';
import { CRON_JOBS, JOBS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Informer } from '../../client/informer.js';
import { heldBy, ignoring, indexByController } from '../claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from '../controller.js';
import { isNamespaceGoing } from '../ownedPods.js';
import { stampOf } from '../pods.js';
import { writeStatus } from '../statusWrite.js';
import { Writes } from '../writes.js';
import { type CronJob, type CronJobPlan, type Job, planCronJob, referenceTo } from './plan.js';

const NAME = 'cronjob-controller';

interface Parts {
  readonly context: ControllerContext;
  readonly crons: Informer<V1CronJob>;
  readonly jobs: Informer<V1Job>;
  readonly writes: Writes;
}

export const cronJobController: Controller = {
  name: NAME,
  needs: [CRON_JOBS, JOBS],
  run(context) {
    const crons = context.informers.of(CRON_JOBS);
    const jobs = context.informers.of(JOBS);
    indexByController(jobs);
    const parts: Parts = { context, crons, jobs, writes: new Writes(context.now) };
    const queue = newQueue(context);
    const wake = ({ metadata }: CronJob) => queue.add(keyOf(metadata));
    crons.on({ added: wake, updated: wake });
    const keyOfJob = (job: Job) => {
      const owner = controllerOf(job);
      return owner?.kind === CRON_JOBS.kind
        ? keyOf({ name: owner.name, namespace: job.metadata.namespace })
        : undefined;
    };
    const wakeOwner = (job: Job) => {
      const key = keyOfJob(job);
      if (key !== undefined) queue.add(key);
    };
    jobs.on({
      added: wakeOwner,
      updated: wakeOwner,
      deleted: (job) => {
        parts.writes.gone(keyOfJob(job) ?? '', job.metadata.uid);
        wakeOwner(job);
      },
    });
    return runLoop(context, NAME, { queue, reconcile: (key) => reconcile(parts, key) });
  },
};

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { context, crons, jobs, writes } = parts;
  const cron = crons.get(key);
  if (cron === undefined) {
    writes.forget(key);
    return undefined;
  }
  const held = heldBy(jobs, cron.metadata.uid);
  if (!writes.seen(key, [cron, ...held])) return undefined;
  const plan = planCronJob({ cron, jobs: held, now: context.now() });
  for (const event of plan.events) context.record(CRON_JOBS, cron, event);
  await remove(parts, cron, [...plan.forget, ...plan.replace]);
  const status = plan.create === undefined ? plan.status : await create(parts, cron, plan);
  await writeStatus(parts, CRON_JOBS, cron, status);
  return plan.againMs;
}

async function remove({ context }: Parts, cron: CronJob, jobs: readonly Job[]): Promise<void> {
  for (const { metadata } of jobs) {
    const options = { propagationPolicy: 'Background', preconditions: { uid: metadata.uid } };
    await ignoring(['Conflict'], context.client.of(JOBS).delete(metadata, options));
    const message = `Deleted job ${metadata.name}`;
    context.record(CRON_JOBS, cron, { type: 'Normal', reason: 'SuccessfulDelete', message });
  }
}

/** Returns what the status says with the new Job in it. */
async function create(parts: Parts, cron: CronJob, plan: CronJobPlan): Promise<V1CronJobStatus> {
  const { context, writes } = parts;
  const { status, create: wish, replace } = plan;
  if (wish === undefined) return status;
  const replaced = new Set(replace.map(({ metadata }) => metadata.uid));
  const kept = (status.active ?? []).filter(({ uid }) => !replaced.has(uid ?? ''));
  const jobs = context.client.of(JOBS);
  let made: Job;
  try {
    made = await jobs.create(wish.job);
    writes.wrote(keyOf(cron.metadata), made);
    const message = `Created job ${made.metadata.name}`;
    context.record(CRON_JOBS, cron, { type: 'Normal', reason: 'SuccessfulCreate', message });
  } catch (error) {
    if (isNamespaceGoing(error)) return status;
    if (!ApiError.is(error, 'AlreadyExists')) {
      const message = `Error creating job: ${messageOf(error)}`;
      context.record(CRON_JOBS, cron, { type: 'Warning', reason: 'FailedCreate', message });
      throw error;
    }
    const { name = '', namespace } = wish.job.metadata ?? {};
    made = await jobs.get({ name, namespace });
    // Someone else's Job stands in the way: this time is over for us, as it is in Kubernetes.
    if (controllerOf(made)?.uid !== cron.metadata.uid) throw error;
  }
  return {
    ...status,
    active: [...kept.filter(({ uid }) => uid !== made.metadata.uid), referenceTo(made)],
    lastScheduleTime: stampOf(wish.scheduledMs),
  };
}
