// Parts of times and durations, and optional values.
// Guarantees: a zone that does not exist is an error.

import { sizeOf } from '../compare.js';
import { evaluationError } from '../error.js';
import { type Overload, overload } from '../signature.js';
import { type TimePart, timePart } from '../time.js';
import { type Duration, OptionalValue, type Timestamp, type Value } from '../values.js';

const PARTS: readonly TimePart[] = [
  'getFullYear',
  'getMonth',
  'getDate',
  'getDayOfMonth',
  'getDayOfWeek',
  'getDayOfYear',
  'getHours',
  'getMinutes',
  'getSeconds',
  'getMilliseconds',
];

const parts = PARTS.flatMap((part) => [
  overload(`timestamp.${part}(): int`, ([time]) => timePart(time as Timestamp, part)),
  overload(`timestamp.${part}(string): int`, ([time, zone]) =>
    timePart(time as Timestamp, part, zone as string),
  ),
]);

const UNITS: Readonly<Record<string, bigint>> = {
  getHours: 3_600_000_000_000n,
  getMinutes: 60_000_000_000n,
  getSeconds: 1_000_000_000n,
};
const spans = [
  ...Object.entries(UNITS).map(([name, nanos]) =>
    overload(`duration.${name}(): int`, ([span]) => (span as Duration).nanos / nanos),
  ),
  overload('duration.getMilliseconds(): int', ([span]) => ((span as Duration).nanos / 1_000_000n) % 1_000n),
];

const inside = (value: Value | undefined) => (value as OptionalValue).value;

function present(value: Value | undefined): Value {
  const found = inside(value);
  if (found === undefined) throw evaluationError('optional.none() dereference');
  return found;
}

/** What counts as empty for optional.ofNonZeroValue. */
const isZero = (value: Value): boolean =>
  value === null ||
  value === false ||
  value === 0n ||
  value === 0 ||
  (typeof value !== 'bigint' &&
    typeof value !== 'number' &&
    typeof value !== 'boolean' &&
    sizeOf(value) === 0);

const optionals = [
  overload('optional.none(): optional<A>', () => OptionalValue.none),
  overload('optional.of(A): optional<A>', ([value]) => new OptionalValue(value)),
  overload('optional.ofNonZeroValue(A): optional<A>', ([value]) =>
    isZero(value as Value) ? OptionalValue.none : new OptionalValue(value),
  ),
  overload('optional<A>.hasValue(): bool', ([value]) => inside(value) !== undefined),
  overload('optional<A>.value(): A', ([value]) => present(value)),
  overload('optional<A>.or(optional<A>): optional<A>', ([value, other]) =>
    inside(value) === undefined ? (other as Value) : (value as Value),
  ),
  overload('optional<A>.orValue(A): A', ([value, other]) => inside(value) ?? (other as Value)),
];

export const TIMES_AND_OPTIONALS: readonly Overload[] = [...parts, ...spans, ...optionals];
