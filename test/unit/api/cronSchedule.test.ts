// Schedules of CronJobs: what is read, and what is refused in which words.
import { describe, expect, test } from 'vitest';
import { CronError, parseCron } from '../../../src/api/cronSchedule.js';

const list = (set: Iterable<number>) => [...set].sort((a, b) => a - b);

test('reads numbers, ranges, steps and names', () => {
  const schedule = parseCron('*/20 1-3,5 1/10 jan,DEC mon-wed');
  if ('everySeconds' in schedule) throw new Error('five fields are no interval');
  expect(list(schedule.minutes)).toEqual([0, 20, 40]);
  expect(list(schedule.hours)).toEqual([1, 2, 3, 5]);
  expect(list(schedule.daysOfMonth)).toEqual([1, 11, 21, 31]);
  expect(list(schedule.months)).toEqual([1, 12]);
  expect(list(schedule.daysOfWeek)).toEqual([1, 2, 3]);
  expect(schedule.eitherDay).toBe(true);
});

test('knows the words, and intervals', () => {
  expect(parseCron('@weekly')).toEqual(parseCron('0 0 * * 0'));
  expect(parseCron('@every 1h30m')).toEqual({ everySeconds: 5400 });
  expect(parseCron('@every 5ms')).toEqual({ everySeconds: 1 });
});

test.each([
  ['1,,2 * * * *', '1,2 * * * *'],
  ['+5 * * * *', '5 * * * *'],
  ['*-5 * * * *', '* * * * *'],
  ['*-5-9 * * * *', '* * * * *'],
  ['  0   0 * * *  ', '0 0 * * *'],
  ['@every 500us', '@every 1s'],
  ['@every .5h', '@every 30m'],
  ['@every 1500ms', '@every 1s'],
  ['@every -5m', '@every 1s'],
])('%s is %s', (text, same) => {
  expect(parseCron(text)).toEqual(parseCron(same));
});

test.each([
  ['0 0 1 * mon', true],
  ['0 0 */2 * mon', true],
  ['0 0 */1 * mon', false],
  ['0 0 1,* * mon', false],
  ['0 0 1 * ?', false],
])('%s: one of the two days is enough: %s', (text, either) => {
  expect(parseCron(text)).toMatchObject({ eitherDay: either });
});

describe('refuses', () => {
  test.each([
    ['', 'empty spec string'],
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['@noon', 'unrecognized descriptor: @noon'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
    ['-1 * * * *', 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'],
    ['* * * * 7', 'end of range (7) above maximum (6): 7'],
    ['* * * * * *', 'expected exactly 5 fields, found 6: [* * * * * *]'],
    ['@every', 'unrecognized descriptor: @every'],
    ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ['@every soon', 'failed to parse duration @every soon: time: invalid duration "soon"'],
  ])('%j', (text, why) => {
    expect(() => parseCron(text)).toThrow(new CronError(why));
  });

  test('what is too long to be a schedule', () => {
    expect(() => parseCron('1,'.repeat(100_000))).toThrow(CronError);
  });
});
