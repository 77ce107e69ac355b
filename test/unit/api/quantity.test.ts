// Quantities: canonical forms, exact sums, counted values.
import { expect, test } from 'vitest';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  integerValue,
  milliValue,
  parseQuantity,
  subtractQuantities,
  tryParseQuantity,
} from '../../../src/api/quantity.js';

test.each([
  ['0', '0'],
  ['0.1', '100m'],
  ['1000m', '1'],
  ['1500m', '1500m'],
  ['1000', '1k'],
  ['1024', '1024'],
  ['1024Mi', '1Gi'],
  ['1.5Gi', '1536Mi'],
  ['0.5Ki', '512'],
  ['1Ki', '1Ki'],
  ['1e3', '1e3'],
  ['1e30', '1e30'],
  ['12e29', '1200e27'],
  ['1.2e3', '1200'],
  ['12E6', '12e6'],
  ['5E', '5E'],
  ['.5', '500m'],
  ['5.', '5'],
  ['+1', '1'],
  ['-2500m', '-2500m'],
  ['1n', '1n'],
  ['0.0000000001', '1n'],
  ['100000u', '100m'],
  [2, '2'],
  [0.25, '250m'],
  ['9223372036854775807', '9223372036854775807'],
])('%s is written %s, and that stays', (amount, canonical) => {
  expect(canonicalQuantity(amount)).toBe(canonical);
  expect(canonicalQuantity(canonical)).toBe(canonical);
});

test.each([
  ['', 'quantities must match'],
  ['x', 'quantities must match'],
  ['1 Gi', 'quantities must match'],
  ['1.2.3', "unable to parse quantity's suffix"],
  ['1mi', "unable to parse quantity's suffix"],
  ['1GiB', 'quantities must match'],
  [`1e${'9'.repeat(20)}`, "unable to parse quantity's suffix"],
  ['9'.repeat(1000), 'quantities must match'],
])('%s is refused', (amount, why) => {
  expect(() => parseQuantity(amount)).toThrow(why);
  expect(tryParseQuantity(amount)).toBeUndefined();
});

test.each([
  ['1', 1000, 1],
  ['100m', 100, 1],
  ['1m', 1, 1],
  ['0', 0, 0],
  ['1.5', 1500, 2],
  ['64Mi', 67_108_864_000, 67_108_864],
  ['1G', 1e12, 1e9],
  ['2Ti', 2 * 1024 ** 4 * 1000, 2 * 1024 ** 4],
  ['100n', 1, 1],
  [3, 3000, 3],
])('%s is %d thousandths and %d units', (amount, millis, units) => {
  expect(milliValue(amount)).toBe(millis);
  expect(integerValue(amount)).toBe(units);
});

test('adds, subtracts and compares exactly', () => {
  expect(addQuantities('100m', '0.9')).toBe('1');
  expect(addQuantities('1Gi', '512Mi')).toBe('1536Mi');
  expect(addQuantities('0', '1Gi')).toBe('1Gi');
  expect(subtractQuantities('1Gi', '1Ki')).toBe('1048575Ki');
  // Nothing has no form of its own.
  expect(subtractQuantities('0', '2Ki')).toBe('-2Ki');
  expect(compareQuantities('1', '1000m')).toBe(0);
  expect(compareQuantities('1Gi', '1G')).toBeGreaterThan(0);
  expect(compareQuantities('1e-3', '2m')).toBeLessThan(0);
});
