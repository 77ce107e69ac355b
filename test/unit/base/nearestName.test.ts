import { expect, test } from 'vitest';
import { didYouMean, nearestName } from '../../../src/base/nearestName.js';

const KNOWN = ['parallelism', 'profiles', 'podMaxBackoffSeconds', 'mode'];

test.each([
  ['parralelism', 'parallelism'],
  ['Profiles', 'profiles'],
  ['profile', 'profiles'],
  ['podMaxBackOffSecond', 'podMaxBackoffSeconds'],
  ['mod', 'mode'],
  ['moed', 'mode'],
  ['node', 'mode'],
  ['parts', undefined],
  ['', undefined],
  ['x'.repeat(100_000), undefined],
])('%s is meant to be %s', (given, meant) => {
  expect(nearestName(given, KNOWN)).toBe(meant);
});

test('of two the nearer one is meant, and of two as near the first', () => {
  expect(nearestName('profilez', ['profileSets', 'profiles', 'profiler'])).toBe('profiles');
});

test('says so, or nothing', () => {
  expect(didYouMean('profile', KNOWN)).toBe('; did you mean profiles?');
  expect(didYouMean('extenders', KNOWN)).toBe('');
});
