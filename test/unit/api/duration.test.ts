// Ages as kubectl prints them.
import { expect, test } from 'vitest';
import { ageOf, humanDuration } from '../../../src/api/duration.js';

const M = 60;
const H = 60 * M;
const D = 24 * H;

test.each([
  [-5, '<invalid>'],
  [-1, '0s'],
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [9 * M + 59, '9m59s'],
  [10 * M + 59, '10m'],
  [179 * M, '179m'],
  [3 * H, '3h'],
  [7 * H + 59 * M, '7h59m'],
  [8 * H + 59 * M, '8h'],
  [47 * H, '47h'],
  [2 * D, '2d'],
  [2 * D + 3 * H, '2d3h'],
  [8 * D + 3 * H, '8d'],
  [729 * D, '729d'],
  [730 * D, '2y'],
  [730 * D + 40 * D, '2y40d'],
  [9 * 365 * D, '9y'],
])('%d seconds print as %s', (seconds, text) => {
  expect(humanDuration(seconds * 1000)).toBe(text);
});

test('counts from a timestamp, or says that it cannot', () => {
  const now = Date.parse('2026-01-01T00:01:00Z');
  expect(ageOf('2026-01-01T00:00:00Z', now)).toBe('60s');
  expect(ageOf(undefined, now)).toBe('<unknown>');
  expect(ageOf('yesterday', now)).toBe('<unknown>');
});
