// Texts: parts, positions, replacement, splitting, joining and formatting.
// Guarantees: positions are code points; every call is linear in its texts, and its cost is counted before it runs.
import { compare } from '../compare.js';
import { CelError, evaluationError } from '../error.js';
import { lengthOf, type Overload, overload, readsFirst, traversal } from '../signature.js';
import { formatDuration, formatTimestamp } from '../time.js';
import { Duration, isMap, ListValue, Timestamp, TypeValue, Uint, type Value } from '../values.js';
import { lettersOf } from './codePoints.js';
import { doubleText } from './conversions.js';

const texts = (args: readonly Value[]) => args as readonly string[];
const MAX_FORMATTED = 1_000_000;

const looks: Overload[] = [
  overload('string.contains(string): bool', (args) => (texts(args)[0] ?? '').includes(texts(args)[1] ?? ''), {
    estimate: ([text]) => ({ cost: traversal(text?.size ?? 0) }),
    cost: ([text]) => traversal(lengthOf(text)),
  }),
  overload(
    'string.startsWith(string): bool',
    (args) => (texts(args)[0] ?? '').startsWith(texts(args)[1] ?? ''),
    {
      estimate: ([, part]) => ({ cost: traversal(part?.size ?? 0) }),
      cost: ([, part]) => traversal(lengthOf(part)),
    },
  ),
  overload('string.endsWith(string): bool', (args) => (texts(args)[0] ?? '').endsWith(texts(args)[1] ?? ''), {
    estimate: ([, part]) => ({ cost: traversal(part?.size ?? 0) }),
    cost: ([, part]) => traversal(lengthOf(part)),
  }),
];

const position = (index: bigint, count: number): number => {
  if (index < 0n || index > BigInt(count)) throw evaluationError(`index out of range: ${index}`);
  return Number(index);
};

function indexOf(text: string, part: string, from = 0n): bigint {
  const letters = lettersOf(text);
  const start = letters.unitOfIndex(position(from, letters.count));
  const found = text.indexOf(part, start);
  return found < 0 ? -1n : BigInt(letters.indexOfUnit(found));
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const letters = lettersOf(text);
  const start = from === undefined ? text.length : letters.unitOfIndex(position(from, letters.count));
  const found = text.lastIndexOf(part, start);
  return found < 0 ? -1n : BigInt(letters.indexOfUnit(found));
}

function substring(text: string, from: bigint, to?: bigint): string {
  const letters = lettersOf(text);
  const start = position(from, letters.count);
  const end = to === undefined ? letters.count : position(to, letters.count);
  if (end < start) throw evaluationError(`invalid substring range. start: ${start}, end: ${end}`);
  return letters.slice(start, end);
}

function charAt(text: string, index: bigint): string {
  const letters = lettersOf(text);
  const at = position(index, letters.count);
  return letters.slice(at, at + 1);
}

const positions: Overload[] = [
  overload('string.indexOf(string): int', ([a, b]) => indexOf(a as string, b as string), readsFirst()),
  overload(
    'string.indexOf(string, int): int',
    ([a, b, c]) => indexOf(a as string, b as string, c as bigint),
    readsFirst(),
  ),
  overload(
    'string.lastIndexOf(string): int',
    ([a, b]) => lastIndexOf(a as string, b as string),
    readsFirst(),
  ),
  overload(
    'string.lastIndexOf(string, int): int',
    ([a, b, c]) => lastIndexOf(a as string, b as string, c as bigint),
    readsFirst(),
  ),
  overload('string.substring(int): string', ([a, b]) => substring(a as string, b as bigint), readsFirst()),
  overload(
    'string.substring(int, int): string',
    ([a, b, c]) => substring(a as string, b as bigint, c as bigint),
    readsFirst(),
  ),
  overload('string.charAt(int): string', ([a, b]) => charAt(a as string, b as bigint), readsFirst()),
];

const ASCII_UPPER = /[A-Z]+/g;
const ASCII_LOWER = /[a-z]+/g;

const changes: Overload[] = [
  overload(
    'string.lowerAscii(): string',
    (args) => (texts(args)[0] ?? '').replace(ASCII_UPPER, (letters) => letters.toLowerCase()),
    readsFirst(),
  ),
  overload(
    'string.upperAscii(): string',
    (args) => (texts(args)[0] ?? '').replace(ASCII_LOWER, (letters) => letters.toUpperCase()),
    readsFirst(),
  ),
  overload('string.trim(): string', (args) => (texts(args)[0] ?? '').trim(), readsFirst()),
  overload(
    'string.reverse(): string',
    (args) =>
      Array.from(texts(args)[0] ?? '')
        .reverse()
        .join(''),
    readsFirst(),
  ),
  overload('string.quote(): string', (args) => JSON.stringify(texts(args)[0] ?? ''), readsFirst(2)),
  overload('strings.quote(string): string', (args) => JSON.stringify(texts(args)[0] ?? ''), readsFirst(2)),
];

function replaced(text: string, part: string, by: string, limit = -1n): string {
  const most = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit);
  const pieces = part === '' ? ['', ...Array.from(text), ''] : text.split(part);
  if (pieces.length - 1 <= most) return pieces.join(by);
  return pieces.slice(0, most + 1).join(by) + (part === '' ? '' : part) + pieces.slice(most + 1).join(part);
}

const replaceCosts: Pick<Overload, 'estimate' | 'cost'> = {
  estimate: ([text, part, by]) => {
    const size = text?.size ?? 0;
    const grown =
      (part?.size ?? 0) === 0 || (by?.size ?? 0) > 0 ? (size + 1) * Math.max(1, by?.size ?? 0) : size;
    return { cost: traversal(size * 2), result: { size: size + grown } };
  },
  cost: ([text, part, by]) => {
    const most = part === '' ? lengthOf(text) + 1 : lengthOf(text) / Math.max(1, lengthOf(part));
    return traversal(lengthOf(text) * 2 + most * lengthOf(by));
  },
};

function parts(text: string, separator: string, limit = -1n): ListValue {
  if (limit === 0n) return ListValue.of([]);
  const all = separator === '' ? Array.from(text) : text.split(separator);
  if (limit < 0n || BigInt(all.length) <= limit) return ListValue.of(all);
  const most = Number(limit);
  return ListValue.of([...all.slice(0, most - 1), all.slice(most - 1).join(separator)]);
}

const splitCosts: Pick<Overload, 'estimate' | 'cost'> = {
  estimate: ([text]) => {
    const size = text?.size ?? 0;
    return { cost: traversal(size * 2), result: { size, element: { size } } };
  },
  cost: ([text]) => traversal(lengthOf(text) * 2),
};

const joinCosts: Pick<Overload, 'estimate' | 'cost'> = {
  estimate: ([list, separator]) => {
    const size = (list?.size ?? 0) * ((list?.element?.size ?? 0) + (separator?.size ?? 0));
    return { cost: traversal(size), result: { size } };
  },
  cost: ([list, separator]) => {
    let size = lengthOf(list) * (separator === undefined ? 0 : lengthOf(separator));
    for (const item of list as ListValue) size += lengthOf(item);
    return traversal(size);
  },
};

const joined = (list: Value | undefined, separator: string): string => {
  const items = [...(list as ListValue)];
  if (!items.every((item) => typeof item === 'string')) throw new CelError('NO_OVERLOAD', 'no such overload');
  return items.join(separator);
};

const lists: Overload[] = [
  overload(
    'string.replace(string, string): string',
    (args) => replaced(...(texts(args) as [string, string, string])),
    replaceCosts,
  ),
  overload(
    'string.replace(string, string, int): string',
    ([text, part, by, limit]) => replaced(text as string, part as string, by as string, limit as bigint),
    replaceCosts,
  ),
  overload(
    'string.split(string): list<string>',
    ([text, by]) => parts(text as string, by as string),
    splitCosts,
  ),
  overload(
    'string.split(string, int): list<string>',
    ([text, by, limit]) => parts(text as string, by as string, limit as bigint),
    splitCosts,
  ),
  overload('list<string>.join(): string', ([list]) => joined(list, ''), joinCosts),
  overload('list<string>.join(string): string', ([list, by]) => joined(list, by as string), joinCosts),
  overload('string.format(list<dyn>): string', ([form, args]) => format(form as string, args as ListValue), {
    estimate: ([form, args]) => {
      const size = (form?.size ?? 0) + (args?.size ?? 0) * (args?.element?.size ?? 0);
      return { cost: traversal(size * 2), result: { size } };
    },
    cost: ([form, args]) => traversal(lengthOf(form) * 2) + lengthOf(args),
  }),
];

/** %s, %d, %f, %e, %b, %o, %x, %X, %% with an optional precision. */
function format(form: string, args: ListValue): string {
  let next = 0;
  let size = 0;
  return form.replace(/%(?:\.(\d+))?(.?)/gs, (_, precision: string | undefined, verb: string) => {
    if (verb === '%') return '%';
    if (next >= args.size) throw evaluationError(`index ${next} out of range`);
    const text = formatted(verb, args.at(next), precision === undefined ? undefined : Number(precision));
    next += 1;
    size += text.length;
    if (size > MAX_FORMATTED) throw new CelError('COST', 'operation cancelled: actual cost limit exceeded');
    return text;
  });
}

function formatted(verb: string, value: Value, precision: number | undefined): string {
  const whole = typeof value === 'bigint' ? value : value instanceof Uint ? value.value : undefined;
  const digits = Math.min(precision ?? 6, 100);
  switch (verb) {
    case 's':
      return shown(value);
    case 'd':
      if (whole !== undefined) return String(whole);
      break;
    case 'f':
      if (typeof value === 'number') return value.toFixed(digits);
      break;
    case 'e':
      if (typeof value === 'number') return value.toExponential(digits).replace(/e([+-])(\d)$/, 'e$10$2');
      break;
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      if (whole !== undefined) return whole.toString(2);
      break;
    case 'o':
      if (whole !== undefined) return whole.toString(8);
      break;
    case 'x':
    case 'X': {
      const hex = hexOf(value, whole);
      if (hex !== undefined) return verb === 'x' ? hex : hex.toUpperCase();
      break;
    }
    default:
      throw evaluationError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
  throw evaluationError(`error during formatting: ${verb} clause cannot be used on this type`);
}

function hexOf(value: Value, whole: bigint | undefined): string | undefined {
  if (whole !== undefined) return whole.toString(16);
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  if (!(bytes instanceof Uint8Array)) return undefined;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** As %s shows it. Nested deeper than any schema is an error. */
function shown(value: Value, depth = 0): string {
  if (depth > 100) throw evaluationError('value is nested too deeply to be shown');
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return doubleText(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof ListValue)
    return `[${Array.from(value, (item) => shown(item, depth + 1)).join(', ')}]`;
  if (isMap(value)) {
    const keys = [...value.keys()].sort((a, b) => compare(a, b));
    return `{${keys.map((key) => `${shown(key)}: ${shown(value.get(key) as Value, depth + 1)}`).join(', ')}}`;
  }
  throw evaluationError(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  );
}

export const STRINGS: readonly Overload[] = [...looks, ...positions, ...changes, ...lists];
