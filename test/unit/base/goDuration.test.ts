// Durations in Go's form: what is read, and what is refused in which words.
import { describe, expect, it } from 'vitest';
import { parseGoDuration } from '../../../src/base/goDuration.js';

it.each([
  ['0', 0],
  ['-0', 0],
  ['10s', 10_000],
  ['1h30m', 5_400_000],
  ['1.5s', 1500],
  ['.5h', 1_800_000],
  ['5.s', 5000],
  ['-2m', -120_000],
  ['+2m', 120_000],
  ['500us', 0.5],
  ['500µs', 0.5],
  ['1h2m3s4ms', 3_723_004],
])('%s is %d ms', (text, ms) => {
  expect(parseGoDuration(text)).toBeCloseTo(ms, 6);
});

describe('refuses', () => {
  it.each([
    ['', 'time: invalid duration ""'],
    ['-', 'time: invalid duration "-"'],
    ['abc', 'time: invalid duration "abc"'],
    ['.s', 'time: invalid duration ".s"'],
    ['5', 'time: missing unit in duration "5"'],
    ['1h5', 'time: missing unit in duration "1h5"'],
    ['5x', 'time: unknown unit "x" in duration "5x"'],
    ['5constructor', 'time: unknown unit "constructor" in duration "5constructor"'],
    ['1 s', 'time: unknown unit " s" in duration "1 s"'],
  ])('%j', (text, why) => {
    expect(() => parseGoDuration(text)).toThrow(why);
  });
});
