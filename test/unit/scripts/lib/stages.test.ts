// What `npm test` runs for which arguments, and the summary it ends with.
// Guarantees: a failed stage can never hide behind a row of passed tests, nor a run of nothing pass.
import { describe, expect, test } from 'vitest';
import {
  besideEachOther,
  isPassed,
  parseTestArguments,
  planStages,
  summarize,
} from '../../../../scripts/lib/stages.mjs';

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
  ['everything', [], ['lint', 'types', 'unit kernel runtime', 'e2e', 'vm', 'native']],
  ['the machine alone', ['vm'], ['vm']],
  ['one project', ['kernel'], ['kernel']],
  ['the native tests alone', ['native'], ['native']],
  ['both kinds', ['vm', 'unit'], ['unit', 'vm']],
])('stages for %s', (_, projects, names) => {
  expect(planStages(projects).map(({ name }: { name: string }) => name)).toEqual(names);
});

test.each([
  ['everything', [], [['lint'], ['types'], ['unit kernel runtime'], ['e2e', 'vm'], ['native']]],
  ['the machine without clusters', ['unit', 'vm'], [['unit'], ['vm']]],
])('what runs beside each other of %s', (_, projects, groups) => {
  const names = besideEachOther(planStages(projects)).map((group: { name: string }[]) =>
    group.map(({ name }) => name),
  );
  expect(names).toEqual(groups);
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

describe('a run', () => {
  const retried = (...flaky: string[]) => ({ ...unit, counts: { ...unit.counts, flaky } });
  const nothing = { ...unit, counts: { passed: 0, failed: 0, skipped: 0 } };
  const lint = { name: 'lint', ok: true, ms: 1 };

  test.each<[string, boolean, object[]]>([
    ['in which all is well', true, [lint, unit]],
    ['without tests to count, as set-up alone', true, [lint]],
    ['with a failed stage', false, [unit, { ...lint, ok: false }]],
    ['in which no test ran', false, [lint, nothing]],
    ['that skipped all there was', false, [{ ...nothing, counts: { passed: 0, failed: 0, skipped: 9 } }]],
    ['in which one of the stages had nothing to run', true, [unit, { ...nothing, name: 'vm' }]],
    ['with two tests that passed at their second try', true, [retried('a'), retried('b')]],
    ['with three of them', false, [retried('a', 'b'), retried('c')]],
  ])('%s has passed: %s', (_, expected, results) => {
    expect(isPassed(results)).toBe(expected);
  });

  test.each([
    ['nothing to run', [nothing], 'no test ran', '0 passed, 1 failed'],
    [
      'too many second tries',
      [retried('a', 'b', 'c')],
      '3 tests passed only when they were run again; a run may have 2',
      '80 passed, 1 failed',
    ],
  ])('says that it failed for %s', (_, results, why, last) => {
    const text = summarize(results);
    expect(text).toContain(`FAILED  ${why}`);
    expect(text.split('\n').at(-1)).toBe(last);
  });

  test('names the slowest twenty tests and ten files of all its stages, the slowest first', () => {
    const times = (kind: string, count: number) =>
      Array.from({ length: count }, (_, n) => ({ name: `${kind}${n}`, ms: n * 1000 }));
    const one = { ...unit, counts: { ...unit.counts, tests: times('t', 15), files: times('f', 6) } };
    const other = { ...unit, counts: { ...unit.counts, tests: times('u', 15), files: times('g', 6) } };
    const lines = summarize([one, other]).split('\n');
    expect(lines.slice(0, 4)).toEqual([
      'The slowest tests:',
      '     14 s  t14',
      '     14 s  u14',
      '     13 s  t13',
    ]);
    expect(lines.slice(20, 24)).toEqual(['   5.00 s  u5', '', 'The slowest files:', '   5.00 s  f5']);
    expect(lines.indexOf('')).toBe(21);
    expect(lines.indexOf('', 22)).toBe(33);
  });
});
