// Durations as Go writes and reads them: 1h30m, 1.5s, 500us. Pure.
// Guarantees: exact to the nanosecond; linear in the text; what time.ParseDuration refuses is refused, in its words.

const SECOND = 1_000_000_000n;
const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1000n],
  ['µs', 1000n],
  ['μs', 1000n],
  ['ms', 1_000_000n],
  ['s', SECOND],
  ['m', 60n * SECOND],
  ['h', 3600n * SECOND],
]);
/** Go counts nanoseconds in 64 bits. */
const LIMIT = 2n ** 63n;

export class DurationError extends Error {
  override readonly name = 'DurationError';
}

/** Throws DurationError. */
export function parseGoNanoseconds(text: string): bigint {
  const refuse = (why: string) => new DurationError(`time: ${why} ${JSON.stringify(text)}`);
  const [, sign = '', amounts = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (amounts === '0') return 0n;
  let sum = 0n;
  let at = 0;
  while (at < amounts.length || at === 0) {
    const [all = '', whole = '', fraction = '', unit = ''] =
      AMOUNT.exec(amounts.slice(at, at + LONGEST)) ?? [];
    if (whole + fraction === '') throw refuse('invalid duration');
    if (unit === '') throw refuse('missing unit in duration');
    const each = UNITS.get(unit);
    if (each === undefined) throw refuse(`unknown unit ${JSON.stringify(unit)} in duration`);
    sum += BigInt(whole) * each + (BigInt(fraction) * each) / 10n ** BigInt(fraction.length);
    if (sum > LIMIT) throw refuse('invalid duration');
    at += all.length;
  }
  if (sign === '-') return -sum;
  if (sum === LIMIT) throw refuse('invalid duration');
  return sum;
}

/** A number, then all up to the next number. */
const AMOUNT = /^(\d*)(?:\.(\d*))?([^\d.]*)/;
/** No amount that a person writes is longer; a longer one is cut, and its rest refused. */
const LONGEST = 64;

/** Milliseconds. Throws DurationError. */
export const parseGoDuration = (text: string): number => Number(parseGoNanoseconds(text)) / 1e6;

export const isGoDuration = (text: string): boolean => tryParse(text) !== undefined;

/** Milliseconds; undefined for what is no duration or a negative one. */
export function goDurationMs(text: string): number | undefined {
  const ms = tryParse(text);
  return ms === undefined || ms < 0 ? undefined : ms;
}

function tryParse(text: string): number | undefined {
  try {
    return parseGoDuration(text);
  } catch (error) {
    if (error instanceof DurationError) return undefined;
    throw error;
  }
}

/** As Go's Duration.String: `0s`, `250ms`, `1.5s`, `5m0s`, `1h0m0s`. */
export function formatGoDuration(ms: number): string {
  const nanos = Math.round(Math.abs(ms) * 1e6);
  const sign = ms < 0 ? '-' : '';
  if (nanos === 0) return '0s';
  if (nanos < 1e3) return `${sign}${nanos}ns`;
  if (nanos < 1e6) return `${sign}${nanos / 1e3}µs`;
  if (nanos < 1e9) return `${sign}${nanos / 1e6}ms`;
  const minutes = Math.floor(nanos / 60e9);
  const seconds = `${(nanos % 60e9) / 1e9}s`;
  if (minutes === 0) return `${sign}${seconds}`;
  const rest = `${minutes % 60}m${seconds}`;
  return minutes < 60 ? `${sign}${rest}` : `${sign}${Math.floor(minutes / 60)}h${rest}`;
}
