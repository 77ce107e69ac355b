// Durations in Go's form: what is read, and what is refused in which words.
import { describe, expect, test } from 'vitest';
import {
  formatGoDuration,
  goDurationMs,
  isGoDuration,
  parseGoDuration,
  parseGoNanoseconds,
} from '../../../src/base/goDuration.js';

test.each([
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
  ['1m30s', 90_000],
  ['250ms', 250],
  ['1.5h', 5_400_000],
])('%s is %d ms', (text, ms) => {
  expect(parseGoDuration(text)).toBeCloseTo(ms, 6);
});

describe('refuses', () => {
  test.each([
    ['', 'time: invalid duration ""'],
    ['-', 'time: invalid duration "-"'],
    ['abc', 'time: invalid duration "abc"'],
    ['.s', 'time: invalid duration ".s"'],
    ['5', 'time: missing unit in duration "5"'],
    ['1h5', 'time: missing unit in duration "1h5"'],
    ['5x', 'time: unknown unit "x" in duration "5x"'],
    ['5constructor', 'time: unknown unit "constructor" in duration "5constructor"'],
    ['1 s', 'time: unknown unit " s" in duration "1 s"'],
    ['1d', 'time: unknown unit "d" in duration "1d"'],
    ['s', 'time: invalid duration "s"'],
    ['1s2', 'time: missing unit in duration "1s2"'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
    [`${'9'.repeat(70)}h`, 'time: missing unit in duration'],
  ])('%j', (text, why) => {
    expect(() => parseGoDuration(text)).toThrow(why);
  });
});

test.each([
  ['9223372036854775807ns', 2n ** 63n - 1n],
  ['-9223372036854775808ns', -(2n ** 63n)],
  ['0.1234567899s', 123_456_789n],
  ['2562047h47m16.854775807s', 2n ** 63n - 1n],
])('%s is exact', (text, nanoseconds) => {
  expect(parseGoNanoseconds(text)).toBe(nanoseconds);
});

test.each([
  ['0', 0],
  ['15s', 15_000],
  ['.5s', 500],
  ['15', undefined],
  ['', undefined],
  ['-1s', undefined],
])('a setting of %j is %s ms', (text, expected) => {
  expect(goDurationMs(text)).toBe(expected);
});

test('knows a duration, also a negative one', () => {
  expect(['1h30m', '-2m', '5', '1d'].map(isGoDuration)).toEqual([true, true, false, false]);
});

test.each([
  [0, '0s'],
  [0.000_000_25, '0s'],
  [0.0005, '500ns'],
  [0.0015, '1.5µs'],
  [1.5, '1.5ms'],
  [250, '250ms'],
  [1500, '1.5s'],
  [10_000, '10s'],
  [80_000, '1m20s'],
  [300_000, '5m0s'],
  [3_600_000, '1h0m0s'],
  [86_400_500, '24h0m0.5s'],
  [-90_000, '-1m30s'],
])('%d ms is written %s', (ms, text) => {
  expect(formatGoDuration(ms)).toBe(text);
});
