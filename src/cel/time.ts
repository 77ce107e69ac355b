// Times and durations: their texts, and the parts that expressions ask for.
// Guarantees: to the nanosecond; a text that is not of the form is refused; linear in the text.
import { DurationError, parseGoNanoseconds } from '../base/goDuration.js';
import { evaluationError } from './error.js';
import { Duration, Timestamp } from './values.js';

const NANOS = 1_000_000_000n;
const MAX_INT = 2n ** 63n - 1n;
/** The years 1 to 9999. */
const FIRST = -62_135_596_800n * NANOS;
const LAST = 253_402_300_799n * NANOS + (NANOS - 1n);

const RFC3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|z|[+-]\d{2}:\d{2})$/;

export function parseTimestamp(text: string): Timestamp {
  const match = RFC3339.exec(text);
  const ms = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2]}${match[4]?.toUpperCase()}`);
  if (match === null || Number.isNaN(ms) || !isDay(match[1] ?? ''))
    throw evaluationError(`parsing time "${text}" as RFC 3339 failed`);
  return timestamp(BigInt(ms) * 1_000_000n + BigInt((match[3] ?? '').padEnd(9, '0')));
}

/** Date.parse takes the 30th of February for the first of March. */
function isDay(day: string): boolean {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

export function timestamp(nanos: bigint): Timestamp {
  if (nanos < FIRST || nanos > LAST) throw evaluationError('timestamp overflow');
  return new Timestamp(nanos);
}

export function duration(nanos: bigint): Duration {
  if (nanos > MAX_INT || nanos < -MAX_INT - 1n) throw evaluationError('duration overflow');
  return new Duration(nanos);
}

/** Go's form: 1h30m, -1.5s, 0. */
export function parseDuration(text: string): Duration {
  try {
    return new Duration(parseGoNanoseconds(text));
  } catch (error) {
    if (error instanceof DurationError) throw evaluationError(error.message);
    throw error;
  }
}

/** In seconds, as CEL writes it. */
export function formatDuration({ nanos }: Duration): string {
  const [sign, size] = nanos < 0n ? ['-', -nanos] : ['', nanos];
  return `${sign}${size / NANOS}${fractionText(size % NANOS)}s`;
}

export function formatTimestamp({ nanos }: Timestamp): string {
  const seconds = floorDivide(nanos, NANOS);
  const date = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${date}${fractionText(nanos - seconds * NANOS)}Z`;
}

const fractionText = (nanos: bigint) =>
  nanos === 0n ? '' : `.${nanos.toString().padStart(9, '0').replace(/0+$/, '')}`;

const floorDivide = (a: bigint, b: bigint) => (a >= 0n ? a / b : -((-a + b - 1n) / b));

export type TimePart =
  | 'getFullYear'
  | 'getMonth'
  | 'getDate'
  | 'getDayOfMonth'
  | 'getDayOfWeek'
  | 'getDayOfYear'
  | 'getHours'
  | 'getMinutes'
  | 'getSeconds'
  | 'getMilliseconds';

/** In UTC, at an offset like +02:00, or in a zone like Europe/Paris. */
export function timePart({ nanos }: Timestamp, part: TimePart, zone = 'UTC'): bigint {
  const ms = Number(floorDivide(nanos, 1_000_000n));
  const date = new Date(ms + offsetMs(zone, ms));
  switch (part) {
    case 'getFullYear':
      return BigInt(date.getUTCFullYear());
    case 'getMonth':
      return BigInt(date.getUTCMonth());
    case 'getDate':
      return BigInt(date.getUTCDate());
    case 'getDayOfMonth':
      return BigInt(date.getUTCDate() - 1);
    case 'getDayOfWeek':
      return BigInt(date.getUTCDay());
    case 'getDayOfYear':
      return BigInt(Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000));
    case 'getHours':
      return BigInt(date.getUTCHours());
    case 'getMinutes':
      return BigInt(date.getUTCMinutes());
    case 'getSeconds':
      return BigInt(date.getUTCSeconds());
    case 'getMilliseconds':
      return BigInt(date.getUTCMilliseconds());
  }
}

function offsetMs(zone: string, atMs: number): number {
  if (zone === 'UTC' || zone === '') return 0;
  const fixed = /^([+-]?)(\d{2}):(\d{2})$/.exec(zone);
  if (fixed !== null)
    return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 3_600_000 + Number(fixed[3]) * 60_000);
  try {
    const parts = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      timeZoneName: 'longOffset',
    }).formatToParts(atMs);
    const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
    const match = /^GMT([+-])(\d{2}):(\d{2})/.exec(name);
    if (match === null) return 0;
    return (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 3_600_000 + Number(match[3]) * 60_000);
  } catch {
    throw evaluationError(`unknown time zone ${zone}`);
  }
}
