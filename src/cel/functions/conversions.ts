// Conversions between types, `type`, `size` and `dyn`.
// Guarantees: a text that is no number, truth or time is an error; nothing overflows silently.
import { kindOf, nameOfKind } from '../compare.js';
import { evaluationError } from '../error.js';
import { lengthOf, type Overload, overload, readsFirst } from '../signature.js';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp, timestamp } from '../time.js';
import { type Duration, type Timestamp, TypeValue, type Uint, type Value } from '../values.js';
import { codePoints } from './codePoints.js';
import { int, uint } from './operators.js';

const same = ([value]: readonly Value[]): Value => value as Value;
const textOf = ([value]: readonly Value[]): string => value as string;

function integerFrom(text: string, what: string): bigint {
  if (!/^[+-]?\d{1,20}$/.test(text))
    throw evaluationError(`${what}: parsing "${text.slice(0, 64)}": invalid syntax`);
  return BigInt(text.replace(/^\+/, ''));
}

function doubleFrom(text: string): number {
  if (/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return Number(text);
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (special === null)
    throw evaluationError(`strconv.ParseFloat: parsing "${text.slice(0, 64)}": invalid syntax`);
  if (special[2]?.toLowerCase() === 'nan') return Number.NaN;
  return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

const TRUTHS: Readonly<Record<string, boolean>> = Object.fromEntries([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((word) => [word, true]),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((word) => [word, false]),
]);

function truthFrom(text: string): boolean {
  const truth = Object.hasOwn(TRUTHS, text) ? TRUTHS[text] : undefined;
  if (truth === undefined)
    throw evaluationError(`strconv.ParseBool: parsing "${text.slice(0, 64)}": invalid syntax`);
  return truth;
}

/** As Go prints a double. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value < 0 ? '-Inf' : '+Inf';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e21))
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  return String(value);
}

function truncated(value: number, what: string): bigint {
  if (!Number.isFinite(value)) throw evaluationError(what);
  return BigInt(Math.trunc(value));
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw evaluationError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

const toInt: Overload[] = [
  overload('int(int): int', same),
  overload('int(uint): int', ([value]) => int((value as Uint).value)),
  overload('int(double): int', ([value]) => int(truncated(value as number, 'integer overflow'))),
  overload('int(string): int', (args) => int(integerFrom(textOf(args), 'strconv.ParseInt'))),
  overload('int(timestamp): int', ([value]) => (value as Timestamp).nanos / 1_000_000_000n),
  overload('int(duration): int', ([value]) => (value as Duration).nanos),
  overload('uint(uint): uint', same),
  overload('uint(int): uint', ([value]) => uint(value as bigint)),
  overload('uint(double): uint', ([value]) => uint(truncated(value as number, 'unsigned integer overflow'))),
  overload('uint(string): uint', (args) => uint(integerFrom(textOf(args), 'strconv.ParseUint'))),
];

const toDouble: Overload[] = [
  overload('double(double): double', same),
  overload('double(int): double', ([value]) => Number(value)),
  overload('double(uint): double', ([value]) => Number((value as Uint).value)),
  overload('double(string): double', (args) => doubleFrom(textOf(args))),
];

const toText: Overload[] = [
  overload('string(string): string', same),
  overload('string(int): string', ([value]) => String(value)),
  overload('string(uint): string', ([value]) => String((value as Uint).value)),
  overload('string(bool): string', ([value]) => String(value)),
  overload('string(double): string', ([value]) => doubleText(value as number)),
  overload('string(bytes): string', ([value]) => utf8(value as Uint8Array), readsFirst()),
  overload('string(timestamp): string', ([value]) => formatTimestamp(value as Timestamp)),
  overload('string(duration): string', ([value]) => formatDuration(value as Duration)),
  overload('bytes(bytes): bytes', same),
  overload('bytes(string): bytes', (args) => new TextEncoder().encode(textOf(args)), readsFirst()),
];

const others: Overload[] = [
  overload('bool(bool): bool', same),
  overload('bool(string): bool', (args) => truthFrom(textOf(args))),
  overload('timestamp(timestamp): timestamp', same),
  overload('timestamp(string): timestamp', (args) => parseTimestamp(textOf(args))),
  overload('timestamp(int): timestamp', ([value]) => timestamp((value as bigint) * 1_000_000_000n)),
  overload('duration(duration): duration', same),
  overload('duration(string): duration', (args) => parseDuration(textOf(args))),
  overload('dyn(A): dyn', same),
  overload('type(A): type', ([value]) => new TypeValue(nameOfKind(kindOf(value as Value)))),
];

const SIZED = ['string', 'bytes', 'list<A>', 'map<A, B>'];
const size = ([value]: readonly Value[]): bigint =>
  BigInt(typeof value === 'string' ? codePoints(value) : lengthOf(value));
const sizes = SIZED.flatMap((kind) => [
  overload(`size(${kind}): int`, size),
  overload(`${kind}.size(): int`, size),
]);

export const CONVERSIONS: readonly Overload[] = [...toInt, ...toDouble, ...toText, ...others, ...sizes];
