// A figure tells its runs, their spread and its goal, and what counts is what it says.
import { describe, expect, test } from 'vitest';
import {
  againstLimit,
  againstPeer,
  atLeast,
  type Figure,
  told,
  worstAgainstLimit,
} from '../../../../bench/lib/figure.js';
import { markdownFigures, renderFigures } from '../../../../bench/lib/table.js';

const runs = (...samples: number[]) => ({ name: 'a job', unit: 'ms', samples });

describe('what counts against a goal', () => {
  const cases: [string, Figure, boolean][] = [
    ['the median, not the worst run', againstLimit(runs(1, 2, 900), 2), true],
    ['a median over the limit', againstLimit(runs(1, 3, 3), 2), false],
    ['the mean of the middle two of an even number', againstLimit(runs(1, 2, 4, 9), 3), true],
    ['the worst run where the goal is about the worst', worstAgainstLimit(runs(1, 2, 3), 2), false],
    [
      'the ratio of medians',
      againstPeer({ ...runs(2, 2, 90), peer: 'it', peerSamples: [4, 4, 1] }, 0.5),
      true,
    ],
    ['a ratio over the goal', againstPeer({ ...runs(3), peer: 'it', peerSamples: [4] }, 0.5), false],
    ['enough of what is better the more there is', atLeast(runs(500), 500), true],
    ['too little of it', atLeast(runs(499), 500), false],
    ['nothing, where there is no goal', told(runs(1)), true],
  ];
  test.each(cases)('%s', (_, { met }, wanted) => expect(met).toBe(wanted));

  test('is never nothing', () => expect(() => told(runs())).toThrow('nothing was measured'));
});

describe('the table of figures', () => {
  const figures = [
    againstPeer({ ...runs(10, 11, 1234.5), peer: 'tool', peerSamples: [20, 22, 24], note: 'CPU 1 ms' }, 1.2),
    againstLimit(runs(7), 5),
    told(runs(0.1234)),
  ];

  test('tells spread, runs and whether the goal was met', () => {
    const [, , first, second, third] = renderFigures(figures).split('\n');
    expect(first?.split(/ {2,}/)).toEqual([
      'a job (CPU 1 ms)',
      '11 ms (10–1,235)',
      '3',
      'tool 22 ms (20–24)',
      '0.5x',
      'at most 1.2x',
      'yes',
    ]);
    expect(second?.split(/ {2,}/)).toEqual(['a job', '7 ms', '1', 'at most 5 ms', 'NO']);
    expect(third?.split(/ {2,}/)).toEqual(['a job', '0.123 ms', '1']);
  });

  test('is the same on a page, a miss in bold', () => {
    const [header, line, first, second] = markdownFigures(figures).split('\n');
    expect(header?.split('|')).toHaveLength(line?.split('|').length ?? 0);
    expect(first).toBe(
      '| a job (CPU 1 ms) | 11 ms (10–1,235) | 3 | tool 22 ms (20–24) | 0.5x | at most 1.2x | yes |',
    );
    expect(second).toContain('| **no** |');
  });
});
