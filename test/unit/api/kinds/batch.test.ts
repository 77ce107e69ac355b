// Job and CronJob: labels by uid, limits, policies, schedules, what may change.
import { describe, expect, test } from 'vitest';
import type { V1Job } from '../../../../src/api/gen/types.js';
import { cronJobKind } from '../../../../src/api/kinds/batch/cronJob.js';
import { jobKind } from '../../../../src/api/kinds/batch/job.js';
import { validateObject } from '../../../../src/api/meta.js';
import { cellsOf, create, faultsOf, faultsOfUpdate } from './support.js';

const creationTimestamp = '2026-01-01T00:00:00Z';
const now = Date.parse('2026-01-01T00:01:30Z');
const metadata = { name: 'pi', namespace: 'default', uid: 'u-1', creationTimestamp };
const template = (spec: object = {}) => ({
  spec: { containers: [{ name: 'c', image: 'i:1' }], restartPolicy: 'Never', ...spec },
});
const job = (spec: object = {}) => ({ metadata, spec: { template: template(), ...spec } });
const cron = (spec: object = {}) => ({
  metadata,
  spec: { schedule: '0 * * * *', jobTemplate: { spec: { template: template() } }, ...spec },
});

test('gives a job the defaults of Kubernetes, and a selector by its uid', () => {
  expect(create(jobKind, job())).toMatchObject({
    metadata: { labels: { 'job-name': 'pi' } },
    spec: {
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      manualSelector: false,
      podReplacementPolicy: 'TerminatingOrFailed',
      selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u-1' } },
      template: {
        metadata: {
          labels: {
            'batch.kubernetes.io/controller-uid': 'u-1',
            'batch.kubernetes.io/job-name': 'pi',
            'controller-uid': 'u-1',
            'job-name': 'pi',
          },
        },
      },
    },
    status: {},
  });
  expect(create(jobKind, job({ parallelism: 3 })).spec).not.toHaveProperty('completions');
  const perIndex = { completionMode: 'Indexed', completions: 2, backoffLimitPerIndex: 1 };
  expect(create(jobKind, job(perIndex)).spec?.backoffLimit).toBe(2 ** 31 - 1);
});

test('keeps a selector that the user says is theirs', () => {
  const own = { manualSelector: true, selector: { matchLabels: { a: 'b' } } };
  const labelled = { ...template(), metadata: { labels: { a: 'b' } } };
  expect(faultsOf(jobKind, job({ ...own, template: labelled }))).toEqual([]);
  expect(faultsOf(jobKind, job(own))).toEqual([
    'spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`',
  ]);
});

describe('a job is refused with', () => {
  test.each<[string, object, string[]]>([
    [
      'pods that never end',
      { template: template({ restartPolicy: 'Always' }) },
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      'a negative number',
      { parallelism: -1 },
      ['spec.parallelism: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'an unknown mode',
      { completionMode: 'Odd' },
      ['spec.completionMode: Unsupported value: "Odd": supported values: "Indexed", "NonIndexed"'],
    ],
    [
      'indexes but no number of them',
      { completionMode: 'Indexed', parallelism: 1 },
      ['spec.completions: Required value: when completion mode is Indexed'],
    ],
    [
      'a limit for indexes that it has not',
      { backoffLimitPerIndex: 1 },
      ['spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode'],
    ],
    [
      'a selector of the user by mistake',
      { selector: { matchLabels: { a: 'b' } } },
      [expect.stringContaining('`selector` not auto-generated')],
    ],
    [
      'a rule without a condition',
      { podFailurePolicy: { rules: [{ action: 'Ignore' }] } },
      [
        'spec.podFailurePolicy.rules[0]: Invalid value: {"action":"Ignore"}: specifying one of OnExitCodes and OnPodConditions is required',
      ],
    ],
    [
      'a rule for success as failure',
      { podFailurePolicy: { rules: [{ action: 'Count', onExitCodes: { operator: 'In', values: [0] } }] } },
      [
        'spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator',
      ],
    ],
  ])('%s', (_, spec, faults) => {
    expect(faultsOf(jobKind, job(spec))).toEqual(faults);
  });
});

describe('the room that the pods of a suspended job take', () => {
  const resources = { requests: { cpu: '2' } };
  const container = { name: 'c', image: 'i' };
  const roomy = template({
    containers: [{ ...container, resources }],
    initContainers: [{ ...container, name: 'first', resources }],
  });
  const before = template({ containers: [container], initContainers: [{ ...container, name: 'first' }] });
  const held = (wanted: object, status: object) =>
    ({ ...create(jobKind, job({ suspend: true, template: wanted })), status }) as V1Job;
  const faults = (status: object, wanted: object = roomy) =>
    validateObject(jobKind, held(wanted, status), held(before, status)).map(({ message }) => message);
  const startTime = '2026-01-01T00:00:30Z';
  const conditions = [{ type: 'Suspended', status: 'True' }];
  const immutable = [expect.stringMatching(/^Invalid value: .*: field is immutable$/)];

  test.each([
    ['before it started', {}],
    ['when it stands still again', { startTime, conditions }],
  ])('may change %s', (_, status) => {
    expect(faults(status)).toEqual([]);
  });

  test.each([
    ['while it is being suspended', { startTime }],
    ['while it has pods', { startTime, conditions, active: 1 }],
  ])('may not change %s', (_, status) => {
    expect(faults(status)).toEqual(immutable);
  });

  test('may not change with anything else, and not to that of another container', () => {
    const other = { ...container, image: 'j', resources };
    expect(
      faults({}, template({ containers: [other], initContainers: [{ ...other, name: 'first' }] })),
    ).toEqual(immutable);
    const renamed = { ...container, name: 'd', resources };
    expect(faults({}, template({ ...before.spec, containers: [renamed] }))).toEqual(immutable);
  });
});

test('lets a job change its speed, never its pods', () => {
  expect(faultsOfUpdate(jobKind, job(), create(jobKind, job({ parallelism: 5, completions: 1 })))).toEqual(
    [],
  );
  const other = create(jobKind, job({ template: template({ containers: [{ name: 'c', image: 'j' }] }) }));
  expect(faultsOfUpdate(jobKind, job(), other)).toEqual([
    expect.stringMatching(/^spec.template: Invalid value: .*: field is immutable$/),
  ]);
  const moved = { suspend: true, template: template({ nodeSelector: { disk: 'ssd' } }) };
  expect(faultsOfUpdate(jobKind, job({ suspend: true }), create(jobKind, job(moved)))).toEqual([]);
  const elastic = { completionMode: 'Indexed', completions: 2, parallelism: 2 };
  const grown = create(jobKind, job({ ...elastic, completions: 4, parallelism: 4 }));
  expect(faultsOfUpdate(jobKind, job(elastic), grown)).toEqual([]);
});

test.each<[string, object, string, string]>([
  ['a new one', {}, '0/1', 'Running'],
  ['a finished one', { succeeded: 1, conditions: [{ type: 'Complete', status: 'True' }] }, '1/1', 'Complete'],
  ['a failed one', { conditions: [{ type: 'Failed', status: 'True' }] }, '0/1', 'Failed'],
  ['a suspended one', { conditions: [{ type: 'Suspended', status: 'True' }] }, '0/1', 'Suspended'],
])('prints %s', (_, status, completions, word) => {
  const startTime = '2026-01-01T00:00:30Z';
  const cells = cellsOf(jobKind, { ...create(jobKind, job()), status: { ...status, startTime } }, now);
  expect(cells).toEqual([
    'pi',
    word,
    completions,
    '60s',
    '90s',
    'c',
    'i:1',
    'batch.kubernetes.io/controller-uid=u-1',
  ]);
});

test('gives a cron job its defaults, and leaves the defaults of jobs to the jobs', () => {
  const { spec } = create(cronJobKind, cron());
  expect(spec).toMatchObject({
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
  expect(spec?.jobTemplate.spec).not.toHaveProperty('backoffLimit');
  expect(cellsOf(cronJobKind, create(cronJobKind, cron()), now).slice(0, 7)).toEqual([
    'pi',
    '0 * * * *',
    '<none>',
    'False',
    '0',
    '<none>',
    '90s',
  ]);
});

describe('a cron job is refused with', () => {
  test.each<[string, object, string[]]>([
    ['no schedule', cron({ schedule: '' }), ['spec.schedule: Required value']],
    [
      'a bad schedule',
      cron({ schedule: 'daily' }),
      ['spec.schedule: Invalid value: "daily": expected exactly 5 fields, found 1: [daily]'],
    ],
    [
      'a zone in its schedule',
      cron({ schedule: 'TZ=UTC 0 * * * *' }),
      [
        'spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
      ],
    ],
    [
      'a zone that is none',
      cron({ timeZone: 'Mars/Olympus' }),
      ['spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus'],
    ],
    [
      'a policy that is none',
      cron({ concurrencyPolicy: 'Maybe' }),
      ['spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"'],
    ],
    [
      'a name that leaves no room',
      { ...cron(), metadata: { ...metadata, name: 'a'.repeat(53) } },
      [`metadata.name: Invalid value: "${'a'.repeat(53)}": must be no more than 52 characters`],
    ],
    [
      'a selector in its template',
      cron({ jobTemplate: { spec: { template: template(), selector: {} } } }),
      ['spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated'],
    ],
  ])('%s', (_, body, faults) => {
    expect(faultsOf(cronJobKind, body)).toEqual(faults);
  });

  test('no time zone of the real world', () => {
    for (const timeZone of ['Etc/UTC', 'Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires'])
      expect(faultsOf(cronJobKind, cron({ timeZone }))).toEqual([]);
  });
});
