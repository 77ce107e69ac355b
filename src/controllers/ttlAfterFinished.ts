// Deletes Jobs that ended long enough ago, when they ask for it.
// Guarantees: the server is asked before a Job goes, so one whose time was just extended stays.
import type { V1Job } from '../api/gen/types.js';
import { keyOf, nameOfKey, type Stored } from '../api/object.js';
import { JOBS } from '../api/resources.js';
import { ignoring } from './claim.js';
import { type Controller, newQueue, runLoop } from './controller.js';
import { timeOf } from './pods.js';

const NAME = 'ttl-after-finished-controller';

/** When the Job is to go; undefined when it stays. */
function expiryOf({ metadata, spec, status }: Stored<V1Job>): number | undefined {
  if (spec.ttlSecondsAfterFinished === undefined || metadata.deletionTimestamp !== undefined)
    return undefined;
  const end = (status?.conditions ?? []).find(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  );
  const endedAt = timeOf(end?.lastTransitionTime);
  return endedAt === undefined ? undefined : endedAt + spec.ttlSecondsAfterFinished * 1000;
}

export const ttlAfterFinishedController: Controller = {
  name: NAME,
  needs: [JOBS],
  run(context) {
    const { client, informers, now } = context;
    const jobs = informers.of(JOBS);
    const queue = newQueue(context);
    const wake = (job: Stored<V1Job>) => {
      const at = expiryOf(job);
      if (at !== undefined) queue.addAfter(keyOf(job.metadata), Math.max(0, at - now()));
    };
    jobs.on({ added: wake, updated: wake });
    const reconcile = async (key: string): Promise<number | undefined> => {
      const cached = jobs.get(key);
      if (cached === undefined || expiryOf(cached) === undefined) return undefined;
      const fresh = await ignoring(['NotFound'], client.of(JOBS).get(nameOfKey(key)));
      const at = fresh === undefined ? undefined : expiryOf(fresh);
      if (fresh === undefined || at === undefined) return undefined;
      if (at > now()) return at - now();
      const { uid, resourceVersion } = fresh.metadata;
      const options = { propagationPolicy: 'Foreground', preconditions: { uid, resourceVersion } };
      await client.of(JOBS).delete(fresh.metadata, options);
      return undefined;
    };
    return runLoop(context, NAME, { queue, reconcile });
  },
};
