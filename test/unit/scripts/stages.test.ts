// What `npm test` runs for which arguments, and the summary it ends with.
// Guarantees: a failed stage can never hide behind a row of passed tests.
import { expect, test } from 'vitest';
import { parseTestArguments, planStages, summarize } from '../../../scripts/lib/stages.mjs';

test.each([
  ['nothing', [], { projects: [], vitestArgs: [] }],
  ['projects', ['unit', 'vm'], { projects: ['unit', 'vm'], vitestArgs: [] }],
  [
    'a project and a filter',
    ['unit', 'cli', '-t', 'unit'],
    { projects: ['unit'], vitestArgs: ['cli', '-t', 'unit'] },
  ],
  ['vitest arguments alone', ['--bail', '1'], { projects: [], vitestArgs: ['--bail', '1'] }],
])('arguments: %s', (_, args, expected) => {
  expect(parseTestArguments(args)).toEqual(expected);
});

test.each([
  ['everything', [], ['lint', 'types', 'unit kernel runtime e2e', 'vm']],
  ['the machine alone', ['vm'], ['vm']],
  ['one project', ['kernel'], ['kernel']],
  ['both kinds', ['vm', 'unit'], ['unit', 'vm']],
])('stages for %s', (_, projects, names) => {
  expect(planStages(projects).map(({ name }: { name: string }) => name)).toEqual(names);
});

const unit = { name: 'unit', ok: true, ms: 2210, counts: { passed: 80, failed: 0, skipped: 0 } };

test('the last line is the sum over all runs', () => {
  const vm = { name: 'vm', ok: true, ms: 41_000, counts: { passed: 20, failed: 0, skipped: 3 } };
  expect(summarize([{ name: 'lint', ok: true, ms: 300 }, unit, vm]).split('\n')).toEqual([
    '  passed  lint   0.30 s',
    '  passed  unit   2.21 s  80 passed, 0 failed',
    '  passed  vm       41 s  20 passed, 0 failed, 3 skipped',
    '100 passed, 0 failed, 3 skipped',
  ]);
});

test.each([
  ['lint', [unit, { name: 'lint', ok: false, ms: 1 }], '80 passed, 1 failed'],
  [
    'a run that crashed without counts',
    [{ name: 'vm', ok: false, ms: 1, counts: undefined }],
    '0 passed, 1 failed',
  ],
  ['tests', [{ ...unit, ok: false, counts: { passed: 1, failed: 2, skipped: 0 } }], '1 passed, 2 failed'],
])('a failure of %s shows in the last line', (_, results, last) => {
  expect(summarize(results).split('\n').at(-1)).toBe(last);
});

test('what failed, or did at first, is named above the stages', () => {
  const failures = ['a.test.ts > adds\nexpected 3\nreceived 4'];
  const flaky = ['b.test.ts > waits'];
  const failed = { ...unit, ok: false, counts: { passed: 1, failed: 1, skipped: 0, failures, flaky } };
  expect(summarize([failed]).split('\n')).toEqual([
    'FAILED  a.test.ts > adds',
    '    expected 3',
    '    received 4',
    '',
    'failed once, then passed: b.test.ts > waits',
    '',
    '  FAILED  unit   2.21 s  1 passed, 1 failed',
    '1 passed, 1 failed',
  ]);
});
