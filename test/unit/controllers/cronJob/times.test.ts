// When schedules are due: fields, steps, names, day rules, time zones and their changes of the clock.
import { describe, expect, test } from 'vitest';
import { parseCron } from '../../../../src/api/cronSchedule.js';
import { missedTimes, nextTime, openZone } from '../../../../src/controllers/cronJob/times.js';

function next(text: string, after: string, { zone = 'UTC', count = 1 } = {}): string[] {
  const schedule = parseCron(text);
  const clock = openZone(zone);
  if (clock === undefined) throw new Error(`cannot read ${text} in ${zone}`);
  const times: string[] = [];
  let at = Date.parse(after);
  for (let step = 0; step < count; step++) {
    const time = nextTime(schedule, clock, at);
    if (time === undefined) break;
    times.push(new Date(time).toISOString().slice(0, 16));
    at = time;
  }
  return times;
}

describe('nextTime', () => {
  test.each([
    ['* * * * *', '2026-03-01T00:00:00Z', '2026-03-01T00:01'],
    ['* * * * *', '2026-03-01T00:00:59Z', '2026-03-01T00:01'],
    ['*/15 * * * *', '2026-03-01T00:46:00Z', '2026-03-01T01:00'],
    ['5/20 * * * *', '2026-03-01T00:26:00Z', '2026-03-01T00:45'],
    ['0 0 29 2 *', '2026-03-01T00:00:00Z', '2028-02-29T00:00'],
    ['0 9 * * mon-fri', '2026-02-28T10:00:00Z', '2026-03-02T09:00'],
    ['0 0 13 * 5', '2026-03-01T00:00:00Z', '2026-03-06T00:00'],
    ['0 0 13 * *', '2026-03-01T00:00:00Z', '2026-03-13T00:00'],
    ['0 0 */2 * mon', '2026-03-03T00:00:00Z', '2026-03-05T00:00'],
    ['0 0 1 JAN,jul ?', '2026-03-01T00:00:00Z', '2026-07-01T00:00'],
    ['@weekly', '2026-03-03T00:00:00Z', '2026-03-08T00:00'],
    ['@yearly', '2026-03-03T00:00:00Z', '2027-01-01T00:00'],
    ['@every 1h30m', '2026-03-03T00:10:00Z', '2026-03-03T01:40'],
  ])('%s after %s is %s', (text, after, wanted) => {
    expect(next(text, after)).toEqual([wanted]);
  });

  test('never comes for a day that does not exist', () => {
    expect(next('0 0 30 2 *', '2026-03-01T00:00:00Z')).toEqual([]);
  });

  test.each([
    ['an ordinary day', '30 2 * * *', '2026-03-07T00:00:00Z', 'America/New_York', ['2026-03-07T07:30']],
    [
      'the hour that is skipped',
      '30 2 * * *',
      '2026-03-08T05:00:00Z',
      'America/New_York',
      ['2026-03-09T06:30'],
    ],
    [
      'the hour that comes twice',
      '30 1 * * *',
      '2026-11-01T04:00:00Z',
      'America/New_York',
      ['2026-11-01T05:30', '2026-11-01T06:30', '2026-11-02T06:30'],
    ],
    [
      'midnight on the short day',
      '0 0 * * *',
      '2026-03-28T22:00:00Z',
      'Europe/Berlin',
      ['2026-03-28T23:00', '2026-03-29T22:00'],
    ],
    [
      'midnight on the long day',
      '0 0 * * *',
      '2026-10-24T21:00:00Z',
      'Europe/Berlin',
      ['2026-10-24T22:00', '2026-10-25T23:00'],
    ],
    [
      'a clock that is half an hour off',
      '0 12 * * *',
      '2026-03-01T00:00:00Z',
      'Asia/Kolkata',
      ['2026-03-01T06:30'],
    ],
    [
      'a change of half an hour',
      '0 2 * * *',
      '2026-10-03T10:00:00Z',
      'Australia/Lord_Howe',
      ['2026-10-04T15:00'],
    ],
  ])('knows %s', (_, text, after, zone, wanted) => {
    expect(next(text, after, { zone, count: wanted.length })).toEqual(wanted);
  });

  test('knows no zone that is none', () => {
    expect(openZone('Mars/Olympus')).toBeUndefined();
  });
});

describe('missedTimes', () => {
  const utc = openZone('UTC');
  const missed = (text: string, earliest: string, now: string) => {
    const schedule = parseCron(text);
    if (utc === undefined) throw new Error('unreadable');
    const { last, tooMany } = missedTimes(schedule, utc, Date.parse(earliest), Date.parse(now));
    return [last === undefined ? undefined : new Date(last).toISOString().slice(0, 16), tooMany];
  };
  test.each([
    ['none', '0 * * * *', '2026-03-01T00:00:00Z', '2026-03-01T00:59:00Z', [undefined, false]],
    ['exactly now', '0 * * * *', '2026-03-01T00:00:00Z', '2026-03-01T01:00:00Z', ['2026-03-01T01:00', false]],
    [
      'the last of several',
      '0 * * * *',
      '2026-03-01T00:00:00Z',
      '2026-03-01T05:30:00Z',
      ['2026-03-01T05:00', false],
    ],
    [
      'the last of a year of minutes',
      '* * * * *',
      '2025-03-01T00:00:00Z',
      '2026-03-01T00:00:30Z',
      ['2026-03-01T00:00', true],
    ],
    ['a rare one', '0 0 1 1 *', '2020-06-01T00:00:00Z', '2026-03-01T00:00:00Z', ['2026-01-01T00:00', false]],
    ['by interval', '@every 1m', '2026-03-01T00:00:00Z', '2026-03-01T00:02:30Z', ['2026-03-01T00:02', false]],
    [
      'nothing from the future',
      '* * * * *',
      '2026-03-02T00:00:00Z',
      '2026-03-01T00:00:00Z',
      [undefined, false],
    ],
  ])('%s', (_, text, earliest, now, wanted) => {
    expect(missed(text, earliest, now)).toEqual(wanted);
  });
});
