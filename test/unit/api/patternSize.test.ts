import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { matchesPattern, PatternError, requirePattern } from '../../../src/api/structural/pattern.js';
import { programSize } from '../../../src/api/structural/patternSize.js';
import { TooMuchWork, withinLimit } from '../../../src/api/workLimit.js';

const PATTERNS = [
  '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
  '(a|b|c){0,900}',
  '((a|b){30}c){30}',
  '[\\pL\\pN]{1,1000}',
  '[]a-z{3}]{2,40}',
  '\\Qa{1000}\\E\\x{41}{200}',
  '(?i:abc){100}|(?P<name>x{3}){50}',
  'a'.repeat(9999),
  '[[:alpha:]]{64}\\{5}',
];

test.each(PATTERNS)('%# the size of an expression is known, roughly, before it is compiled', (source) => {
  const real = RE2JS.compile(source).programSize();
  expect(programSize(source)).toBeGreaterThan(real / 3);
  expect(programSize(source)).toBeLessThan(real * 12 + 20);
});

test.each(['(', ')))', '{3}', 'a{2', '[', '[[:', '\\', '\\Q', '\\p{', '(?P<', '*', 'a{,3}'])(
  'the size of %j, which says nothing, is still a number',
  (source) => {
    expect(programSize(source)).toBeGreaterThanOrEqual(1);
  },
);

test('repeats of repeats do not make the number overflow', () => {
  expect(programSize(`${'('.repeat(300)}a${'){999}'.repeat(300)}`)).toBeLessThanOrEqual(1e12);
});

const limit = { units: 200_000, ms: 1e9, now: () => 0 };

test('an expression that is large is not compiled within a limit of work, and is without one', () => {
  expect(() => withinLimit(limit, () => requirePattern('(d|e|f){0,900}'))).toThrow(TooMuchWork);
  expect(matchesPattern('(d|e|f){0,900}', 'd')).toBe(true);
});

test('a text that would take long at worst is not matched within a limit of work', () => {
  const matches = (text: string) => matchesPattern('^[a-z]([-a-z0-9]*[a-z0-9])?$', text);
  expect(withinLimit(limit, () => matches('abc'))).toBe(true);
  expect(() => withinLimit(limit, () => matches('a'.repeat(1_000_000)))).toThrow(TooMuchWork);
  expect(matches('a'.repeat(1_000_000))).toBe(true);
});

test('what stays compiled is bounded by its size, and what went is compiled again', () => {
  // Enough to look for it, but not to compile it.
  const looking = { ...limit, units: 10_000 };
  const search = () => withinLimit(looking, () => matchesPattern('first{500}', 'first'));
  requirePattern('first{500}');
  expect(search()).toBe(false);
  for (let index = 0; index < 60; index += 1) requirePattern(`(x|y){1000}${index}`);
  expect(search).toThrow(TooMuchWork);
  expect(matchesPattern('first{500}', `firs${'t'.repeat(500)}`)).toBe(true);
});

test('an expression that is none is said to be wrong', () => {
  expect(() => requirePattern('(')).toThrow(PatternError);
  expect(() => requirePattern('a'.repeat(10_001))).toThrow('more than 10000 characters');
});
