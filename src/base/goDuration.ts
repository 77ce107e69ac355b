// Durations as Go writes and reads them: 1h30m, 1.5s, 500us. Pure.
// Guarantees: linear in the text; what time.ParseDuration refuses is refused, in its words.

const UNIT_MS: Readonly<Record<string, number>> = {
  ...{ h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, µs: 1e-3, μs: 1e-3, ns: 1e-6 },
};

export class DurationError extends Error {
  override readonly name = 'DurationError';
}

/** Milliseconds. Throws DurationError. */
export function parseGoDuration(text: string): number {
  const [, sign = '', amounts = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (amounts === '0') return 0;
  let sum = 0;
  let at = 0;
  while (at < amounts.length || at === 0) {
    const [all = '', number = '', unit = ''] = AMOUNT.exec(amounts.slice(at, at + LONGEST)) ?? [];
    if (!/\d/.test(number)) throw new DurationError(`time: invalid duration ${JSON.stringify(text)}`);
    if (unit === '') throw new DurationError(`time: missing unit in duration ${JSON.stringify(text)}`);
    const each = Object.hasOwn(UNIT_MS, unit) ? UNIT_MS[unit] : undefined;
    if (each === undefined)
      throw new DurationError(
        `time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`,
      );
    sum += Number(number) * each;
    at += all.length;
  }
  return sign === '-' ? -sum : sum;
}

/** A number, then all up to the next number. */
const AMOUNT = /^(\d*\.?\d*)([^\d.]*)/;
/** No amount that a person writes is longer; a longer one is cut, and its rest refused. */
const LONGEST = 64;
