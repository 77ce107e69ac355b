// The plain values of the schemas: strings, numbers, times, quantities. Pure.
// Guarantees: each value leaves as the apiserver stores it (canonical quantities, UTC times) or is refused in Go's words;
// a whole number that JavaScript cannot hold exactly, and any number out of a double's range, is refused, never changed.
import { isInt64, QUANTITY_FIELDS, QUANTITY_MAPS } from './formats.js';
import { isMembers, isTooDeep, type Members, setOwn } from './ownKeys.js';
import { canonicalQuantity, QuantityError } from './quantity.js';

/** The value does not fit its schema; the message is the end of the apiserver's sentence. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** Where a value stands. A chain, because its text is needed only for refusals. */
export class Place {
  readonly depth: number;

  constructor(
    readonly parent: Place | undefined,
    /** The struct that holds the field, as Go names it. */
    readonly model: string,
    /** `.name` of a field or map's key, `[3]` of a list's element. */
    readonly step: string,
    readonly isField: boolean,
  ) {
    this.depth = parent === undefined ? 0 : parent.depth + 1;
  }

  field(model: string, step: string): Place {
    return new Place(this, model, step, true);
  }

  element(step: string): Place {
    return new Place(this, this.model, step, false);
  }

  /** Without list positions: how type mismatches name a field. */
  get path(): string {
    return this.#steps(({ isField }) => isField);
  }

  /** With list positions: how unknown fields are named. */
  get exactPath(): string {
    return this.#steps(() => true);
  }

  #steps(wanted: (place: Place) => boolean): string {
    const steps: string[] = [];
    for (let place: Place | undefined = this; place !== undefined; place = place.parent)
      if (wanted(place)) steps.push(place.step);
    return steps.reverse().join('').replace(/^\./, '');
  }
}

export interface Scalar {
  /** Values of this type need no reading. */
  readonly plain?: 'string' | 'boolean';
  read(value: unknown, place: Place): unknown;
  readonly zero: unknown;
}

/** Undefined when the code is the name of a model. */
export function scalarFor(model: string, field: string, code: string): Scalar | undefined {
  const name = `${model}.${field}`;
  if (QUANTITY_FIELDS.has(name) || QUANTITY_MAPS.has(name)) return { read: readQuantity, zero: '0' };
  if (code === 'i') return isInt64(model, field) ? int64 : int32;
  return SCALARS[code];
}

export function typeMismatch(value: unknown, { model, path }: Place, goType: string): DecodeError {
  const found = Array.isArray(value) ? 'array' : value === null ? 'null' : nameOf(value);
  const where = path === '' ? 'Go value' : `Go struct field ${model}.${path}`;
  return new DecodeError(`json: cannot unmarshal ${found} into ${where} of type ${goType}`);
}

function nameOf(value: unknown): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    // Go tells which number it was when the kind fits and the value does not.
    case 'number':
      return 'number';
    default:
      return typeof value;
  }
}

function integer(goType: string, low: number, high: number): Scalar {
  return {
    zero: 0,
    read(value, place) {
      if (typeof value !== 'number') throw typeMismatch(value, place, goType);
      if (Number.isSafeInteger(value) && value >= low && value <= high) return value;
      const { model, path } = place;
      throw new DecodeError(
        `json: cannot unmarshal number ${value} into Go struct field ${model}.${path} of type ${goType}`,
      );
    },
  };
}

const int32 = integer('int32', -(2 ** 31), 2 ** 31 - 1);
/** Of the 64 bits those that a double has: parsing has lost the others already. */
const int64 = integer('int64', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

const SCALARS: Readonly<Record<string, Scalar>> = {
  s: { zero: '', plain: 'string', read: (value, place) => expectType(value, place, 'string') },
  b: { zero: false, plain: 'boolean', read: (value, place) => expectType(value, place, 'bool') },
  n: { zero: 0, read: (value, place) => finite(expectType(value, place, 'float64')) },
  t: { zero: null, read: (value, place) => readTime(value, place, 0) },
  u: { zero: null, read: (value, place) => readTime(value, place, 6) },
  y: { zero: '', read: readBase64 },
  x: { zero: 0, read: readIntOrString },
  any: { zero: null, read: readAnything },
};

export const TOO_DEEP = 'exceeded max depth';

function readAnything(value: unknown): unknown {
  if (isTooDeep(value)) throw new DecodeError(TOO_DEEP);
  return copyExact(value);
}

/** What JSON writes with more digits than a double has; beyond that it writes an exponent, which names no digit. */
const isRounded = (value: number): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;

/** A number beyond what a double has would be stored as null. */
function finite(value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new DecodeError('json: cannot unmarshal number into Go value of type float64: value out of range');
  return value;
}

/** Fields of managers come this way: each is looked at once. */
function copyExact(value: unknown): unknown {
  finite(value);
  if (typeof value === 'number' && isRounded(value))
    throw new DecodeError(`the number ${value} has more digits than can be kept exactly`);
  if (Array.isArray(value)) return value.map(copyExact);
  if (!isMembers(value)) return value;
  const copy: Members = {};
  for (const key of Object.keys(value)) setOwn(copy, key, copyExact(value[key]));
  return copy;
}

const JS_TYPES = { string: 'string', bool: 'boolean', float64: 'number' } as const;

function expectType(value: unknown, place: Place, goType: keyof typeof JS_TYPES): unknown {
  if (JS_TYPES[goType] !== typeof value) throw typeMismatch(value, place, goType);
  return value;
}

function readQuantity(value: unknown, place: Place): string {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw typeMismatch(value, place, 'resource.Quantity');
  if (typeof value === 'number') copyExact(value);
  try {
    return canonicalQuantity(value);
  } catch (error) {
    if (error instanceof QuantityError) throw new DecodeError(error.message, { cause: error });
    throw error;
  }
}

function readIntOrString(value: unknown, place: Place): unknown {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return int32.read(value, place);
  throw typeMismatch(value, place, 'intstr.IntOrString');
}

const RFC3339 = /^((\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d))(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Nearly every time: as it is stored, on a day that every month has. */
const AS_STORED =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{6})?Z$/;
const LENGTHS = { 0: '2006-01-02T15:04:05Z'.length, 6: '2006-01-02T15:04:05.000000Z'.length };

/** Times travel in UTC; whole seconds, or microseconds where leases and events need them. */
function readTime(value: unknown, place: Place, digits: 0 | 6): string {
  if (typeof value !== 'string') throw typeMismatch(value, place, digits === 0 ? 'v1.Time' : 'v1.MicroTime');
  if (value.length === LENGTHS[digits] && AS_STORED.test(value)) return value;
  const [, local, year, month, day, hour, minute, second, fraction = '', zone] = RFC3339.exec(value) ?? [];
  const isRead = local !== undefined && (digits === 0 || fraction.length === digits);
  const wrong = isRead ? outOfRange({ year, month, day, hour, minute, second }) : undefined;
  if (wrong !== undefined)
    throw new DecodeError(`parsing time ${JSON.stringify(value)}: ${wrong} out of range`);
  const time = new Date(isRead ? Date.parse(`${local}${zone}`) : Number.NaN);
  // A zone may lead out of the years that four digits have.
  if (Number.isNaN(time.getTime()) || time.getUTCFullYear() < 0 || time.getUTCFullYear() > 9999) {
    const layout = digits === 0 ? '2006-01-02T15:04:05Z07:00' : '2006-01-02T15:04:05.000000Z07:00';
    throw new DecodeError(`parsing time ${JSON.stringify(value)} as "${layout}": cannot parse it`);
  }
  const whole = time.toISOString().slice(0, 19);
  return digits === 0 ? `${whole}Z` : `${whole}.${fraction}Z`;
}

type TimeParts = Readonly<
  Record<'year' | 'month' | 'day' | 'hour' | 'minute' | 'second', string | undefined>
>;

/** Date would take the 30th of February for a day of March, and 24 o'clock for the next day. */
function outOfRange(parts: TimeParts): string | undefined {
  const { year, month, day, hour, minute, second } = parts;
  const days = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate();
  const bounds: readonly [string, number, number, number][] = [
    ['month', Number(month), 1, 12],
    ['day', Number(day), 1, days],
    ['hour', Number(hour), 0, 23],
    ['minute', Number(minute), 0, 59],
    ['second', Number(second), 0, 59],
  ];
  return bounds.find(([, value, low, high]) => value < low || value > high)?.[0];
}

/** One pass and no groups: the data may be a megabyte. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function readBase64(value: unknown, place: Place): string {
  if (typeof value !== 'string') throw typeMismatch(value, place, '[]uint8');
  const text = value.replace(/[\r\n]/g, '');
  if (text.length % 4 === 0 && BASE64.test(text)) return text;
  const at = text.search(/[^A-Za-z0-9+/]/);
  throw new DecodeError(`illegal base64 data at input byte ${at === -1 ? text.length : at}`);
}
