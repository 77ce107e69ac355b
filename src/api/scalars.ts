// The plain values of the schemas: strings, numbers, times, quantities. Pure.
// Guarantees: each value leaves as the apiserver stores it (canonical quantities, UTC times) or is refused in Go's words.
import { INT64_FIELDS, QUANTITY_FIELDS, QUANTITY_MAPS } from './formats.js';
import { copyJson, isTooDeep } from './own.js';
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
    return this.steps(({ isField }) => isField);
  }

  /** With list positions: how unknown fields are named. */
  get exactPath(): string {
    return this.steps(() => true);
  }

  private steps(wanted: (place: Place) => boolean): string {
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
  if (code === 'i') return INT64_FIELDS.has(field) ? int64 : int32;
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
      if (Number.isInteger(value) && value >= low && value <= high) return value;
      const { model, path } = place;
      throw new DecodeError(
        `json: cannot unmarshal number ${value} into Go struct field ${model}.${path} of type ${goType}`,
      );
    },
  };
}

const int32 = integer('int32', -(2 ** 31), 2 ** 31 - 1);
const int64 = integer('int64', -(2 ** 63), 2 ** 63);

const SCALARS: Readonly<Record<string, Scalar>> = {
  s: { zero: '', plain: 'string', read: (value, place) => expectType(value, place, 'string') },
  b: { zero: false, plain: 'boolean', read: (value, place) => expectType(value, place, 'bool') },
  n: { zero: 0, read: (value, place) => expectType(value, place, 'float64') },
  t: { zero: null, read: (value, place) => readTime(value, place, 0) },
  u: { zero: null, read: (value, place) => readTime(value, place, 6) },
  y: { zero: '', read: readBase64 },
  x: { zero: 0, read: readIntOrString },
  any: { zero: null, read: readAnything },
};

export const TOO_DEEP = 'exceeded max depth';

function readAnything(value: unknown): unknown {
  if (isTooDeep(value)) throw new DecodeError(TOO_DEEP);
  return copyJson(value);
}

const JS_TYPES = { string: 'string', bool: 'boolean', float64: 'number' } as const;

function expectType(value: unknown, place: Place, goType: keyof typeof JS_TYPES): unknown {
  if (JS_TYPES[goType] !== typeof value) throw typeMismatch(value, place, goType);
  return value;
}

function readQuantity(value: unknown, place: Place): string {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw typeMismatch(value, place, 'resource.Quantity');
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

const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Times travel in UTC; whole seconds, or microseconds where leases and events need them. */
function readTime(value: unknown, place: Place, digits: 0 | 6): string {
  if (typeof value !== 'string') throw typeMismatch(value, place, digits === 0 ? 'v1.Time' : 'v1.MicroTime');
  const match = RFC3339.exec(value);
  const seconds = match === null ? Number.NaN : Date.parse(`${match[1]}${match[3]}`);
  if (match === null || Number.isNaN(seconds)) {
    const layout = digits === 0 ? '2006-01-02T15:04:05Z07:00' : '2006-01-02T15:04:05.000000Z07:00';
    throw new DecodeError(`parsing time ${JSON.stringify(value)} as "${layout}": cannot parse it`);
  }
  const whole = match[3] === 'Z' ? match[1] : new Date(seconds).toISOString().slice(0, 19);
  return digits === 0 ? `${whole}Z` : `${whole}.${(match[2] ?? '').slice(0, 6).padEnd(6, '0')}Z`;
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
