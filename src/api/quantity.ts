// Amounts of resources: 100m, 1.5Gi, 12e3. Exact arithmetic, and Kubernetes' canonical form. Pure.
// Guarantees: no rounding but the one Kubernetes does (up, at a billionth); usual amounts cost no BigInt.

type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface Quantity {
  /** Billionths. */
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const FORM = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([eE])([+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)$/;
const LOOSE_FORM = /^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/;
/** Up to 999 of any unit is never more of the next one. */
const CANONICAL = /^[1-9]\d{0,2}([numkMGTPE]|[KMGTPE]i)?$/;
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const NANO = 1_000_000_000n;
/** Longer text is no amount of anything, and 10 to a huge power would exhaust memory. */
const MAX_LENGTH = 64;
const MAX_EXPONENT = 30;

/** A cluster's amounts are few and come again and again; the bound keeps hostile ones from filling memory. */
const known = new Map<string, Quantity>();
const MAX_KNOWN = 1024;

/** Text or a JSON number. Throws QuantityError in Kubernetes' words. */
export function parseQuantity(amount: string | number): Quantity {
  const text = String(amount);
  const before = known.get(text);
  if (before !== undefined) return before;
  const quantity = readQuantity(text);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, quantity);
  return quantity;
}

function readQuantity(text: string): Quantity {
  const match = text.length > MAX_LENGTH ? null : FORM.exec(text);
  if (match === null) throw new QuantityError(refusalOf(text));
  const [, sign = '', digits = '', , exponent, suffix = ''] = match;
  const [whole = '', fraction = ''] = digits.split('.');
  const mantissa = BigInt(whole + fraction);
  const format = exponent !== undefined ? 'DecimalExponent' : suffix.endsWith('i') ? 'BinarySI' : 'DecimalSI';
  let power = 9 - fraction.length;
  let scaled = mantissa;
  if (format === 'BinarySI') scaled *= 1024n ** BigInt(BINARY.indexOf(suffix));
  else power += exponent === undefined ? 3 * (DECIMAL.indexOf(suffix) - 3) : Number(exponent);
  if (Math.abs(power) > MAX_EXPONENT + MAX_LENGTH) throw new QuantityError(refusalOf(text));
  const nanos = power >= 0 ? scaled * 10n ** BigInt(power) : divideUp(scaled, 10n ** BigInt(-power));
  return { nanos: sign === '-' ? -nanos : nanos, format };
}

/** Undefined instead of an exception, for checks. */
export function tryParseQuantity(amount: string | number): Quantity | undefined {
  try {
    return parseQuantity(amount);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

/** The form in which the apiserver stores and answers an amount. */
function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0';
  const isWhole = nanos % NANO === 0n;
  const units = nanos / NANO;
  // Small or broken amounts would lose precision in powers of 1024.
  if (format === 'BinarySI' && isWhole && (units >= 1024n || units <= -1024n)) {
    const { value, steps } = removeFactors(units, 1024n, BINARY.length - 1);
    return `${value}${BINARY[steps]}`;
  }
  const isExponent = format === 'DecimalExponent';
  const { value, steps } = removeFactors(nanos, 1000n, isExponent ? MAX_LENGTH : DECIMAL.length - 1);
  if (!isExponent) return `${value}${DECIMAL[steps]}`;
  const exponent = 3 * (steps - 3);
  return exponent === 0 ? `${value}` : `${value}e${exponent}`;
}

/** parse and format in one; what is canonical already comes back as it is. */
export function canonicalQuantity(amount: string | number): string {
  const text = String(amount);
  if (CANONICAL.test(text)) return text;
  return formatQuantity(parseQuantity(amount));
}

/** Negative, zero or positive, as for sort. */
export function compareQuantities(left: string | number, right: string | number): number {
  if (left === right) return 0;
  const a = parseQuantity(left).nanos;
  const b = parseQuantity(right).nanos;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The sum keeps the first amount's format, unless that is zero. */
export function addQuantities(left: string | number, right: string | number): string {
  const a = parseQuantity(left);
  const b = parseQuantity(right);
  return formatQuantity({ nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format });
}

export function subtractQuantities(left: string | number, right: string | number): string {
  const a = parseQuantity(left);
  const b = parseQuantity(right);
  return formatQuantity({ nanos: a.nanos - b.nanos, format: a.nanos === 0n ? b.format : a.format });
}

const USUAL = /^(\d{1,9})(m|k|M|G|Ki|Mi|Gi)?$/;
const USUAL_MILLIS: Readonly<Record<string, number>> = {
  m: 1,
  k: 1e6,
  M: 1e9,
  G: 1e12,
  Ki: 1024e3,
  Mi: 1024 ** 2 * 1000,
  Gi: 1024 ** 3 * 1000,
};

/** Thousandths, rounded up: how CPU is counted. */
export function milliValue(amount: string | number): number {
  return usualMillis(amount) ?? Number(divideUp(parseQuantity(amount).nanos, 1_000_000n));
}

/** Whole units, rounded up: how bytes and pods are counted. */
export function integerValue(amount: string | number): number {
  const millis = usualMillis(amount);
  return millis === undefined
    ? Number(divideUp(parseQuantity(amount).nanos, NANO))
    : Math.ceil(millis / 1000);
}

/** Amounts that a double holds exactly, which are nearly all. */
function usualMillis(amount: string | number): number | undefined {
  const match = USUAL.exec(String(amount));
  if (match === null) return undefined;
  const millis = Number(match[1]) * (match[2] === undefined ? 1000 : (USUAL_MILLIS[match[2]] ?? Number.NaN));
  return millis <= Number.MAX_SAFE_INTEGER ? millis : undefined;
}

function divideUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (value % divisor === 0n) return quotient;
  return value > 0n ? quotient + 1n : quotient;
}

function removeFactors(value: bigint, factor: bigint, most: number): { value: bigint; steps: number } {
  let steps = 0;
  let rest = value;
  while (steps < most && rest % factor === 0n) {
    rest /= factor;
    steps++;
  }
  return { value: rest, steps };
}

function refusalOf(text: string): string {
  if (text.length <= MAX_LENGTH && LOOSE_FORM.test(text) && /^[+-]?(\d+\.?\d*|\.\d+)/.test(text))
    return "unable to parse quantity's suffix";
  return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
}
