// A Job's pods, accounts and end.
import { describe, expect, test } from 'vitest';
import type { V1Job, V1JobSpec } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { formatIndexes, parseIndexes } from '../../../../src/controllers/job/indexes.js';
import { type JobPlan, planJob } from '../../../../src/controllers/job/plan.js';
import { jobPod, TRACKING } from '../../../../src/controllers/job/pods.js';
import { NO_RETRY, retryInMs } from '../../../../src/controllers/job/workers.js';
import { ago, NOW, pod } from '../support/objects.js';

const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'i' }] } };
const INDEX = 'batch.kubernetes.io/job-completion-index';

function job(spec: Partial<V1JobSpec> = {}, status: object = {}): Stored<V1Job> {
  return {
    metadata: {
      name: 'sum',
      namespace: 'default',
      uid: 'uid-sum',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: ago(60),
    },
    spec: { completions: 1, parallelism: 1, backoffLimit: 6, template, ...spec },
    status: { startTime: ago(30), ...status },
  };
}
const indexed = (completions: number, more: Partial<V1JobSpec> = {}, status: object = {}) =>
  job({ completions, parallelism: completions, completionMode: 'Indexed', ...more }, status);

interface Wish {
  readonly index?: number;
  readonly exit?: number;
  readonly failures?: number;
  readonly released?: boolean;
  readonly going?: boolean;
}
function worker(name: string, phase: string, { index, exit, failures, released, going }: Wish = {}) {
  const base = pod(name, {
    phase,
    meta: {
      finalizers: released === true ? [] : [TRACKING],
      ...(going === true ? { deletionTimestamp: ago(1) } : {}),
      annotations: {
        ...(index === undefined ? {} : { [INDEX]: String(index) }),
        ...(failures === undefined
          ? {}
          : { 'batch.kubernetes.io/job-index-failure-count': String(failures) }),
      },
    },
  });
  const state = { terminated: { exitCode: exit ?? 1, finishedAt: ago(3600) } };
  const containerStatuses = [{ name: 'main', state, image: 'i', imageID: '', ready: false, restartCount: 0 }];
  return { ...base, status: { ...base.status, ...(phase === 'Failed' ? { containerStatuses } : {}) } };
}

const plan = (of: Stored<V1Job>, pods: ReturnType<typeof worker>[], mayAct = true) =>
  planJob({ job: of, pods, retry: NO_RETRY, now: NOW, mayAct });
const names = (pods: JobPlan['remove']) => pods.map(({ metadata }) => metadata.name);
const reasons = ({ status }: JobPlan) =>
  (status.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`);
const indexesOf = ({ create }: JobPlan) => create.map(({ metadata }) => metadata?.annotations?.[INDEX]);

describe('planJob: how many pods', () => {
  test.each([
    ['as many as run at once', job({ completions: 5, parallelism: 2 }), [], 2],
    ['no more than are left to do', job({ completions: 5, parallelism: 9 }, { succeeded: 3 }), [], 2],
    ['only the missing ones', job({ completions: 5, parallelism: 3 }), [worker('a', 'Running')], 2],
    [
      'none at once in place of one that was deleted, which is a failure',
      job(),
      [worker('a', 'Running', { going: true })],
      0,
    ],
    [
      'none in its place until it has ended, when asked so',
      job({ podReplacementPolicy: 'Failed' }),
      [worker('a', 'Running', { going: true })],
      0,
    ],
    ['none while it is suspended', job({ suspend: true }), [], 0],
    [
      'none after the first success of a work queue',
      job({ completions: undefined, parallelism: 3 }, { succeeded: 1 }),
      [worker('a', 'Running')],
      0,
    ],
  ])('%s', (_, of, pods, wanted) => {
    expect(plan(of, pods).create).toHaveLength(wanted);
  });

  test('makes nothing while its last actions are not seen', () => {
    expect(plan(job(), [], false).create).toEqual([]);
  });

  test('removes what is too much without counting it, those that do least first', () => {
    const of = job({ completions: 5, parallelism: 1 });
    const result = plan(of, [worker('a', 'Running'), worker('b', 'Pending')]);
    expect([names(result.remove), result.status.failed]).toEqual([['b'], 0]);
  });

  test('waits longer after each failure', () => {
    expect([1, 2, 3, 20].map((failures) => retryInMs({ failures, lastMs: NOW }, NOW))).toEqual([
      10_000, 20_000, 40_000, 600_000,
    ]);
    const fresh = { ...worker('a', 'Failed'), status: { phase: 'Failed' } };
    expect(plan(job(), [fresh])).toMatchObject({ create: [], againMs: 10_000 });
  });
});

describe('planJob: failures that a policy ignores', () => {
  const rules = [{ action: 'Ignore', onExitCodes: { operator: 'In', values: [42] } }];
  const ignoring = job({ podFailurePolicy: { rules } });
  const ended = (name: string) => {
    const failed = worker(name, 'Failed', { exit: 42 });
    const state = { terminated: { exitCode: 42, finishedAt: ago(0) } };
    const containerStatuses = [
      { name: 'main', state, image: 'i', imageID: '', ready: false, restartCount: 0 },
    ];
    return { ...failed, status: { ...failed.status, containerStatuses } };
  };

  test('count for the back-off, each once, and for nothing else', () => {
    const first = plan(ignoring, [ended('a')]);
    expect([first.create.length, first.againMs, first.status.failed]).toEqual([0, 10_000, 0]);
    // Its finalizer is not seen gone yet.
    const again = planJob({
      job: ignoring,
      pods: [ended('a')],
      retry: first.retry,
      now: NOW,
      mayAct: true,
    });
    expect([again.create.length, again.againMs]).toEqual([0, 10_000]);
    const next = planJob({
      job: ignoring,
      pods: [ended('b')],
      retry: again.retry,
      now: NOW,
      mayAct: true,
    });
    expect([next.create.length, next.againMs, next.status.failed]).toEqual([0, 20_000, 0]);
  });
});

describe('planJob: accounts', () => {
  test('notes a pod that has ended before it lets it go', () => {
    const result = plan(job({ completions: 2 }), [worker('a', 'Succeeded')]);
    expect(result.status).toMatchObject({ succeeded: 0, uncountedTerminatedPods: { succeeded: ['uid-a'] } });
    expect(names(result.release)).toEqual(['a']);
  });
  test('counts it when its finalizer is gone', () => {
    const of = job(
      { completions: 2 },
      { uncountedTerminatedPods: { succeeded: ['uid-a'], failed: ['uid-b'] } },
    );
    const result = plan(of, [worker('a', 'Succeeded', { released: true })]);
    expect(result.status).toMatchObject({ succeeded: 1, failed: 1, uncountedTerminatedPods: {} });
  });
  test('does not count it twice while the cache is late', () => {
    const of = job({ completions: 2 }, { uncountedTerminatedPods: { succeeded: ['uid-a'] } });
    const result = plan(of, [worker('a', 'Succeeded')]);
    expect(result.status).toMatchObject({ succeeded: 0, uncountedTerminatedPods: { succeeded: ['uid-a'] } });
  });
});

describe('planJob: the end', () => {
  const done = [worker('a', 'Succeeded', { released: true })];
  test('says first that it has succeeded, then that it is complete', () => {
    const first = plan(job(), [worker('a', 'Succeeded')]);
    expect(reasons(first)).toEqual(['SuccessCriteriaMet CompletionsReached']);
    const second = plan(job({}, first.status), done);
    expect(reasons(second)).toEqual(['SuccessCriteriaMet CompletionsReached', 'Complete CompletionsReached']);
    expect(second.status).toMatchObject({ succeeded: 1, completionTime: ago(0) });
    expect(second.events).toEqual([{ type: 'Normal', reason: 'Completed', message: 'Job completed' }]);
  });
  test('deletes what still runs, counts it as failed, and waits for its end', () => {
    const first = plan(job({ backoffLimit: 0, parallelism: 2, completions: 2 }), [
      worker('a', 'Failed'),
      worker('b', 'Running'),
    ]);
    expect([reasons(first), names(first.end)]).toEqual([['FailureTarget BackoffLimitExceeded'], ['b']]);
    const going = worker('b', 'Running', { going: true, released: true });
    const second = plan(job({}, first.status), [going]);
    expect(reasons(second)).toEqual(['FailureTarget BackoffLimitExceeded']);
    const third = plan(job({}, second.status), []);
    expect(third.status).toMatchObject({ failed: 2, terminating: 0 });
    expect(reasons(third)).toContain('Failed BackoffLimitExceeded');
  });
  test.each([
    ['its time is over', job({ activeDeadlineSeconds: 30 }), [worker('a', 'Running')], 'DeadlineExceeded'],
    [
      'containers were restarted too often',
      job({ backoffLimit: 2, template: { spec: { ...template.spec, restartPolicy: 'OnFailure' } } }),
      [
        {
          ...worker('a', 'Running'),
          status: {
            phase: 'Running',
            containerStatuses: [{ name: 'main', image: 'i', imageID: '', ready: false, restartCount: 2 }],
          },
        },
      ],
      'BackoffLimitExceeded',
    ],
  ])('fails when %s', (_, of, pods, reason) => {
    expect(reasons(plan(of, pods))).toEqual([`FailureTarget ${reason}`]);
  });
  test('does nothing more when it is over, but lets pods go', () => {
    const over = job({}, { conditions: [{ type: 'Complete', status: 'True' }] });
    const result = plan(over, [worker('a', 'Running')]);
    expect([result.create, names(result.end), names(result.release)]).toEqual([[], ['a'], ['a']]);
  });
  test('looks again when its deadline comes', () => {
    expect(plan(job({ activeDeadlineSeconds: 40 }), [worker('a', 'Running')]).againMs).toBe(10_000);
  });
});

describe('planJob: suspension', () => {
  test('takes the pods away and says so', () => {
    const result = plan(job({ suspend: true }), [worker('a', 'Running')]);
    expect([names(result.remove), reasons(result), result.status.active]).toEqual([
      ['a'],
      ['Suspended JobSuspended'],
      0,
    ]);
  });
  test('starts the clock anew when it goes on', () => {
    const before = job({}, { conditions: [{ type: 'Suspended', status: 'True' }] });
    const result = plan(before, []);
    expect([result.status.startTime, reasons(result)]).toEqual([ago(0), ['Suspended JobResumed']]);
  });
  test('does not fail for a deadline that passed while it was suspended', () => {
    const before = job(
      { activeDeadlineSeconds: 10 },
      { startTime: ago(3600), conditions: [{ type: 'Suspended', status: 'True' }] },
    );
    const result = plan(before, []);
    expect([reasons(result), result.create.length, result.againMs]).toEqual([
      ['Suspended JobResumed'],
      1,
      10_000,
    ]);
  });
  test('does not fail for its deadline while it is suspended, and waits for none', () => {
    const suspended = job({ activeDeadlineSeconds: 10, suspend: true }, { startTime: ago(3600) });
    const result = plan(suspended, [worker('a', 'Running')]);
    expect([names(result.remove), reasons(result), result.againMs]).toEqual([
      ['a'],
      ['Suspended JobSuspended'],
      undefined,
    ]);
  });
  test('is over as soon as the Job goes on, also when it ends at once', () => {
    const before = job({}, { succeeded: 1, conditions: [{ type: 'Suspended', status: 'True' }] });
    const conditions = plan(before, []).status.conditions ?? [];
    expect(conditions.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'Suspended False',
      'SuccessCriteriaMet True',
      'Complete True',
    ]);
  });
});

describe('planJob: indexes', () => {
  test.each([
    [
      'the lowest that nobody works on',
      indexed(4, { parallelism: 2 }),
      [worker('a', 'Running', { index: 0 })],
      ['1'],
    ],
    ['not those that are done', indexed(4, {}, { completedIndexes: '0-2' }), [], ['3']],
    [
      'not those that failed for good',
      indexed(3, { backoffLimitPerIndex: 1 }, { failedIndexes: '1' }),
      [],
      ['0', '2'],
    ],
  ])('makes %s', (_, of, pods, wanted) => {
    expect(indexesOf(plan(of, pods))).toEqual(wanted);
  });
  test('keeps one pod an index', () => {
    const pods = [worker('a', 'Running', { index: 0 }), worker('b', 'Pending', { index: 0 })];
    expect(names(plan(indexed(2), pods).remove)).toEqual(['b']);
  });
  test('counts an index once, whatever succeeds', () => {
    const pods = [worker('a', 'Succeeded', { index: 1 }), worker('b', 'Succeeded', { index: 1 })];
    expect(plan(indexed(3), pods).status).toMatchObject({ succeeded: 1, completedIndexes: '1' });
  });
  test('gives up an index after its own limit, and the Job when all are over', () => {
    const of = indexed(2, { backoffLimitPerIndex: 1, backoffLimit: 2 ** 31 - 1 }, { completedIndexes: '0' });
    const result = plan(of, [worker('a', 'Failed', { index: 1, failures: 1 })]);
    expect([result.status.failedIndexes, reasons(result)]).toEqual(['1', ['FailureTarget FailedIndexes']]);
  });
  test('hands the number of failures on to the next pod of the index', () => {
    const of = indexed(1, { backoffLimitPerIndex: 3, backoffLimit: 2 ** 31 - 1 });
    const result = plan(of, [worker('a', 'Failed', { index: 0, failures: 1 })]);
    expect(result.create[0]?.metadata?.annotations).toMatchObject({
      'batch.kubernetes.io/job-index-failure-count': '2',
    });
    expect(names(result.release)).toEqual([]);
  });
  test('ends when too many indexes failed', () => {
    const of = indexed(5, { backoffLimitPerIndex: 0, maxFailedIndexes: 1 }, { failedIndexes: '0' });
    const result = plan(of, [worker('a', 'Failed', { index: 1 })]);
    expect(reasons(result)).toEqual(['FailureTarget MaxFailedIndexesExceeded']);
  });
  test.each([
    [{ succeededIndexes: '0' }, '0', true],
    [{ succeededIndexes: '0,2' }, '0', false],
    [{ succeededCount: 2 }, '1-2', true],
    [{ succeededIndexes: '0-3', succeededCount: 2 }, '1,4', false],
  ])('the rule %j with %s succeeded is met: %s', (rule, completedIndexes, met) => {
    const of = indexed(6, { successPolicy: { rules: [rule] } }, { completedIndexes });
    expect(reasons(plan(of, [])).includes('SuccessCriteriaMet SuccessPolicy')).toBe(met);
  });
  test('tells the pod its index', () => {
    const made = jobPod(indexed(3), { index: 2 });
    expect(made.metadata).toMatchObject({ generateName: 'sum-2-', labels: { [INDEX]: '2' } });
    expect(made.spec?.hostname).toBe('sum-2');
    expect(made.spec?.containers[0]?.env?.[0]?.name).toBe('JOB_COMPLETION_INDEX');
  });
});

describe('planJob: failure policy', () => {
  const rules = [
    { action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } },
    { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
    { action: 'FailIndex', onExitCodes: { operator: 'NotIn', values: [1, 2] } },
  ];
  const of = indexed(2, {
    podFailurePolicy: { rules },
    podReplacementPolicy: 'Failed',
    backoffLimitPerIndex: 5,
  });
  test('ends the Job', () => {
    const { conditions } = plan(of, [worker('a', 'Failed', { index: 0, exit: 42 })]).status;
    expect(conditions?.[0]?.message).toBe(
      'Container main for pod default/a failed with exit code 42 matching FailJob rule at index 0',
    );
  });
  test('ends the index', () => {
    expect(plan(of, [worker('a', 'Failed', { index: 0, exit: 7 })]).status.failedIndexes).toBe('0');
  });
  test('does not count a disruption', () => {
    const a = worker('a', 'Failed', { index: 0, exit: 1 });
    const conditions = [{ type: 'DisruptionTarget', status: 'True' }];
    const result = plan(of, [{ ...a, status: { ...a.status, conditions } }]);
    expect(result.status).toMatchObject({ failed: 0, uncountedTerminatedPods: {} });
  });
});

describe('index lists', () => {
  test.each(['', '0', '0,1', '0-2', '0-2,5,7-9'])('"%s" reads back the same', (text) => {
    expect(formatIndexes(parseIndexes(text, 10))).toBe(text);
  });
  test('ignores what is beyond the completions or no number', () => {
    expect([...parseIndexes('1-999999999,x,-3', 4)]).toEqual([1, 2, 3]);
  });
});
