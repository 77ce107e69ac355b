// Which Jobs a CronJob starts, replaces and forgets.
import { describe, expect, test } from 'vitest';
import type { V1CronJob, V1Job } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { planCronJob } from '../../../../src/controllers/cronJob/plan.js';
import { ago, NOW, pod } from '../support/objects.js';

const MINUTE = NOW / 60_000;
const cron = (spec: object = {}, status: object = {}): Stored<V1CronJob> => ({
  metadata: { ...pod('tick').metadata, creationTimestamp: ago(30) },
  spec: { schedule: '* * * * *', jobTemplate: { spec: { template: {} } }, timeZone: 'UTC', ...spec },
  status,
});
const job = (name: string, end?: 'Complete' | 'Failed', startedAgo = 60): Stored<V1Job> => ({
  metadata: pod(name).metadata,
  spec: { template: {} },
  status: {
    startTime: ago(startedAgo),
    ...(end === undefined ? {} : { conditions: [{ type: end, status: 'True' }] }),
    ...(end === 'Complete' ? { completionTime: ago(5) } : {}),
  },
});
const plan = (of: Stored<V1CronJob>, jobs: Stored<V1Job>[] = []) => planCronJob({ cron: of, jobs, now: NOW });
const reasons = ({ events }: ReturnType<typeof plan>) => events.map(({ reason }) => reason);

describe('planCronJob', () => {
  test('starts what is due, under the name of its minute', () => {
    const { create, againMs } = plan(cron());
    expect(create?.job.metadata).toMatchObject({
      name: `tick-${MINUTE}`,
      annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': ago(0) },
      ownerReferences: [{ kind: 'CronJob', name: 'tick', controller: true }],
    });
    expect(againMs).toBe(60_100);
  });

  test.each([
    ['it was started', cron({}, { lastScheduleTime: ago(0) }), []],
    ['its Job is there', cron(), [job(`tick-${MINUTE}`)]],
    ['it is suspended', cron({ suspend: true }), []],
    [
      'nothing was due since it was made',
      { ...cron(), metadata: { ...cron().metadata, creationTimestamp: ago(-1) } },
      [],
    ],
    [
      'it is too late',
      cron({ schedule: '59 23 * * *', startingDeadlineSeconds: 10 }, { lastScheduleTime: ago(86_400) }),
      [],
    ],
    ['the zone is unknown', cron({ timeZone: 'Mars/Olympus' }), []],
    ['the schedule is none', cron({ schedule: 'often' }), []],
  ])('starts nothing when %s', (_, of, jobs) => {
    expect(plan(of, jobs).create).toBeUndefined();
  });

  test.each([
    ['Allow', true, 0],
    ['Forbid', false, 0],
    ['Replace', true, 1],
  ])('%s: a second one beside a running one is started: %s', (concurrencyPolicy, starts, replaced) => {
    const result = plan(cron({ concurrencyPolicy }), [job('tick-1')]);
    expect([result.create !== undefined, result.replace.length]).toEqual([starts, replaced]);
  });

  test('starts only the last of many that were missed, and warns', () => {
    const result = plan(cron({}, { lastScheduleTime: ago(7 * 3600) }));
    expect([result.create?.scheduledMs, reasons(result)]).toEqual([NOW, ['TooManyMissedTimes']]);
  });

  test('keeps the list of running Jobs true', () => {
    const of = cron(
      { suspend: true },
      {
        active: [
          { name: 'tick-1', uid: 'uid-tick-1' },
          { name: 'gone', uid: 'x' },
        ],
      },
    );
    const result = plan(of, [job('tick-1', 'Complete'), job('tick-2')]);
    expect(result.status).toMatchObject({ active: [{ name: 'tick-2' }], lastSuccessfulTime: ago(5) });
    expect(reasons(result)).toEqual(['SawCompletedJob', 'MissingJob']);
  });

  test('keeps three that succeeded and one that failed', () => {
    const jobs = [
      ...[1, 2, 3, 4].map((number) => job(`ok-${number}`, 'Complete', 1000 - number)),
      ...[1, 2].map((number) => job(`bad-${number}`, 'Failed', 1000 - number)),
    ];
    const { forget } = plan(cron({ suspend: true }), jobs);
    expect(forget.map(({ metadata }) => metadata.name)).toEqual(['ok-1', 'bad-1']);
  });
});
