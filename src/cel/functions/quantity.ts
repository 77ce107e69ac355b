// Amounts of resources in expressions.
// Guarantees: exact; what is no whole number of 64 bits is no integer.
import { type Quantity, tryParseQuantity } from '../../api/quantity.js';
import { evaluationError } from '../error.js';
import { type Overload, overload, readsFirst } from '../signature.js';
import { QuantityValue, type Value } from '../values.js';

const NANO = 1_000_000_000n;
const MAX_INT = 2n ** 63n - 1n;

function quantity(text: string): QuantityValue {
  const parsed = tryParseQuantity(text);
  if (parsed === undefined)
    throw evaluationError(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  return new QuantityValue(parsed);
}

const of = (value: Value | undefined): Quantity => (value as QuantityValue).quantity;

function integer({ nanos }: Quantity): bigint | undefined {
  const whole = nanos / NANO;
  return nanos % NANO === 0n && whole <= MAX_INT && whole >= -MAX_INT - 1n ? whole : undefined;
}

function asInteger(value: Quantity): bigint {
  const whole = integer(value);
  if (whole === undefined) throw evaluationError('cannot convert value to integer');
  return whole;
}

const signOf = (nanos: bigint): bigint => (nanos > 0n ? 1n : nanos < 0n ? -1n : 0n);
const moved = ({ nanos, format }: Quantity, by: bigint) => new QuantityValue({ nanos: nanos + by, format });

export const QUANTITIES: readonly Overload[] = [
  overload('quantity(string): Quantity', ([text]) => quantity(text as string), readsFirst()),
  overload(
    'isQuantity(string): bool',
    ([text]) => tryParseQuantity(text as string) !== undefined,
    readsFirst(),
  ),
  overload('Quantity.sign(): int', ([a]) => signOf(of(a).nanos)),
  overload('Quantity.isInteger(): bool', ([a]) => integer(of(a)) !== undefined),
  overload('Quantity.asInteger(): int', ([a]) => asInteger(of(a))),
  overload('Quantity.asApproximateFloat(): double', ([a]) => Number(of(a).nanos) / 1e9),
  overload('Quantity.isGreaterThan(Quantity): bool', ([a, b]) => of(a).nanos > of(b).nanos),
  overload('Quantity.isLessThan(Quantity): bool', ([a, b]) => of(a).nanos < of(b).nanos),
  overload('Quantity.compareTo(Quantity): int', ([a, b]) => signOf(of(a).nanos - of(b).nanos)),
  overload('Quantity.add(Quantity): Quantity', ([a, b]) => moved(of(a), of(b).nanos)),
  overload('Quantity.add(int): Quantity', ([a, b]) => moved(of(a), (b as bigint) * NANO)),
  overload('Quantity.sub(Quantity): Quantity', ([a, b]) => moved(of(a), -of(b).nanos)),
  overload('Quantity.sub(int): Quantity', ([a, b]) => moved(of(a), -(b as bigint) * NANO)),
];
