// When a schedule is due, in any time zone. Pure: the zone's rules come with the language.
// Guarantees: due is every minute whose wall clock matches: none in a skipped hour, two in a repeated one.
import type { CronFields, CronSchedule } from '../../api/cronSchedule.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A schedule that is not due within this is never due (the 30th of February). */
const HORIZON_MS = 5 * 366 * DAY_MS;

interface WallClock {
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

type Zone = (timeMs: number) => WallClock;

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const zones = new Map<string, Zone>();

/** The wall clock of a zone by its IANA name; of this process when none is named. Undefined for an unknown one. */
export function openZone(name: string | undefined): Zone | undefined {
  const known = zones.get(name ?? '');
  if (known !== undefined) return known;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      ...(name === undefined ? {} : { timeZone: name }),
      weekday: 'short',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      hourCycle: 'h23',
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  const zone: Zone = (timeMs) => {
    const parts: Record<string, string> = {};
    for (const { type, value } of format.formatToParts(timeMs)) parts[type] = value;
    return {
      month: Number(parts['month']),
      day: Number(parts['day']),
      weekday: WEEKDAYS.indexOf(parts['weekday'] ?? ''),
      hour: Number(parts['hour']) % 24,
      minute: Number(parts['minute']),
    };
  };
  zones.set(name ?? '', zone);
  return zone;
}

/** The first time after `afterMs`; undefined when there is none within five years. */
export function nextTime(schedule: CronSchedule, zone: Zone, afterMs: number): number | undefined {
  if ('everySeconds' in schedule) return (Math.floor(afterMs / 1000) + schedule.everySeconds) * 1000;
  let time = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const end = afterMs + HORIZON_MS;
  while (time <= end) {
    const clock = zone(time);
    if (!schedule.months.has(clock.month) || !isDay(schedule, clock)) time = nextDay(zone, time, clock);
    else if (!schedule.hours.has(clock.hour)) time += (60 - clock.minute) * MINUTE_MS;
    else if (!schedule.minutes.has(clock.minute)) time += MINUTE_MS;
    else return time;
  }
  return undefined;
}

function isDay({ daysOfMonth, daysOfWeek, eitherDay }: CronFields, { day, weekday }: WallClock): boolean {
  const byMonth = daysOfMonth.has(day);
  const byWeek = daysOfWeek.has(weekday);
  return eitherDay ? byMonth || byWeek : byMonth && byWeek;
}

/** The first minute of the next day, or a later minute of the same one when the day is longer than 24 hours. */
function nextDay(zone: Zone, time: number, { hour, minute, day }: WallClock): number {
  const landed = time + DAY_MS - (hour * 60 + minute) * MINUTE_MS;
  const there = zone(landed);
  if (there.day === day) return landed;
  // The day was short: what was jumped over belongs to the new day too.
  const begin = landed - (there.hour * 60 + there.minute) * MINUTE_MS;
  return zone(begin).day === there.day ? begin : landed;
}

interface Missed {
  /** The last time that was due; undefined when none was. */
  readonly last: number | undefined;
  /** More than a hundred times were missed: a clock that jumped, or a long pause. */
  readonly tooMany: boolean;
}

const MANY = 100;
const WINDOWS_MS = [HOUR_MS, DAY_MS, 32 * DAY_MS, 367 * DAY_MS, HORIZON_MS];

/** What was due after `earliestMs` and up to now. */
export function missedTimes(schedule: CronSchedule, zone: Zone, earliestMs: number, now: number): Missed {
  if (earliestMs > now) return { last: undefined, tooMany: false };
  if ('everySeconds' in schedule) {
    const base = Math.floor(earliestMs / 1000) * 1000;
    const everyMs = schedule.everySeconds * 1000;
    const count = Math.floor((now - base) / everyMs);
    return { last: count === 0 ? undefined : base + count * everyMs, tooMany: count > MANY };
  }
  let count = 0;
  for (let time = nextTime(schedule, zone, earliestMs); time !== undefined && time <= now; count++) {
    if (count >= MANY) break;
    time = nextTime(schedule, zone, time);
  }
  if (count === 0) return { last: undefined, tooMany: false };
  return { last: lastTime(schedule, zone, earliestMs, now), tooMany: count >= MANY };
}

/** Looked for from near to far, so that a schedule of every minute is not walked through for a year. */
function lastTime(schedule: CronSchedule, zone: Zone, earliestMs: number, now: number): number | undefined {
  for (const windowMs of WINDOWS_MS) {
    const from = Math.max(earliestMs, now - windowMs);
    let last: number | undefined;
    for (let time = nextTime(schedule, zone, from); time !== undefined && time <= now; ) {
      last = time;
      time = nextTime(schedule, zone, time);
    }
    if (last !== undefined || from === earliestMs) return last;
  }
  return undefined;
}
