import { expect, test } from 'vitest';
import { structural } from '../../../src/api/structural/schema.js';
import { spendWork, TooMuchWork, withinLimit } from '../../../src/api/workLimit.js';

const clock = (step: number) => {
  let time = 0;
  return () => {
    time += step;
    return time;
  };
};
const spend = (times: number, units: number) => () => {
  for (let index = 0; index < times; index += 1) spendWork(units);
  return 'done';
};

test('without a limit nothing is given up', () => {
  expect(spend(1000, 1e9)()).toBe('done');
});

test('a single piece beyond the limit is not begun, however fast the clock says it goes', () => {
  const limit = { units: 100, ms: 1e9, now: () => 0 };
  expect(withinLimit(limit, spend(1000, 100))).toBe('done');
  expect(() => withinLimit(limit, spend(1, 101))).toThrow(TooMuchWork);
  expect(() => withinLimit(limit, () => spendWork(1, 101))).toThrow(TooMuchWork);
});

test('many small pieces end when their time is over, and the clock is seldom asked', () => {
  let asked = 0;
  const now = () => {
    asked += 1;
    return 0;
  };
  expect(withinLimit({ units: 100, ms: 10, now }, spend(100_000, 1))).toBe('done');
  expect(asked).toBeLessThan(50);
  expect(() => withinLimit({ units: 100, ms: 10, now: clock(4) }, spend(100_000, 1))).toThrow(TooMuchWork);
});

test('a limit is over with its check, also when that failed', () => {
  const limit = { units: 1, ms: 1, now: () => 0 };
  expect(() =>
    withinLimit(limit, () => {
      throw new Error('of the check');
    }),
  ).toThrow('of the check');
  expect(spend(1, 1e9)()).toBe('done');
});

test('a schema of tens of thousands of fields is given up while it is read', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`f${index}`, { type: 'string' }]),
  );
  const read = () => structural({ type: 'object', properties }).properties.size;
  expect(read()).toBe(20_000);
  expect(() => withinLimit({ units: 100, ms: 10, now: clock(4) }, read)).toThrow(TooMuchWork);
});
