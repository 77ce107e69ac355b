import { describe, expect, test } from 'vitest';
import {
  fuzzUsage,
  parseFuzzArguments,
  readStatistics,
  secondsEach,
  table,
} from '../../../../scripts/lib/fuzzing.mjs';

describe('parseFuzzArguments', () => {
  const known = ['json', 'text'];
  test.each([
    ['nothing', [], { total: 60, targets: known }],
    ['a target and a time', ['--seconds', '5', 'json'], { total: 5, targets: ['json'] }],
    ['--help', ['--help', 'nonsense'], { help: true }],
    ['an unknown target', ['xml', 'json'], { refusal: 'no target is called xml' }],
    ['no time', ['--seconds', '0'], { refusal: '--seconds must be a number above 0' }],
    ['an unknown option', ['--fast'], { refusal: expect.stringContaining("'--fast'") }],
  ])('takes %s', (_, args, expected) => {
    expect(parseFuzzArguments(args, known)).toEqual(expected);
  });

  test('tells its targets', () => expect(fuzzUsage(known)).toContain('Targets: json, text'));
});

describe('secondsEach', () => {
  test.each([
    ['shares the time among the targets of each turn', { total: 60, targets: 12, atOnce: 2 }, 10],
    ['gives one target all of it', { total: 60, targets: 1, atOnce: 2 }, 60],
    ['gives each at least five seconds', { total: 10, targets: 12, atOnce: 2 }, 5],
  ])('%s', (_name, input, expected) => {
    expect(secondsEach(input)).toBe(expected);
  });
});

describe('readStatistics', () => {
  test('reads runs and the last coverage', () => {
    const output = '#2 INITED cov: 5 ft: 6\n#9 DONE   cov: 17 ft: 20\nstat::number_of_executed_units: 1234\n';
    expect(readStatistics(output)).toEqual({ runs: 1234, coverage: 17 });
  });

  test('reads nothing from a fuzzer that printed nothing', () => {
    expect(readStatistics('')).toEqual({ runs: 0, coverage: 0 });
  });
});

describe('table', () => {
  test('has a line for each target with its find', () => {
    const results = [
      { name: 'json', runs: 10, coverage: 5, failure: undefined },
      { name: 'replies', runs: 7, coverage: 55, failure: '/x/crash-1' },
    ];
    expect(table(results)).toBe(
      [
        '  target   runs  coverage  result',
        '  json       10         5  clean',
        '  replies     7        55  FOUND /x/crash-1',
      ].join('\n'),
    );
  });
});
