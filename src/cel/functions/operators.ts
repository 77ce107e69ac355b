// Arithmetic, comparison and membership.
// Guarantees: integers overflow as 64-bit ones do, with an error; nothing is rounded but doubles.
import { compare, equals, includes } from '../compare.js';
import { evaluationError } from '../error.js';
import { lengthOf, type Meter, type Overload, overload, type Shape, traversal } from '../signature.js';
import { duration, timestamp } from '../time.js';
import { type Duration, isMap, ListValue, type Timestamp, Uint, type Value } from '../values.js';

const MAX_INT = 2n ** 63n - 1n;
const MIN_INT = -MAX_INT - 1n;
const MAX_UINT = 2n ** 64n - 1n;

export function int(value: bigint): bigint {
  if (value > MAX_INT || value < MIN_INT) throw evaluationError('integer overflow');
  return value;
}

export function uint(value: bigint): Uint {
  if (value < 0n || value > MAX_UINT) throw evaluationError('unsigned integer overflow');
  return new Uint(value);
}

function nonZero(value: bigint, what: string): bigint {
  if (value === 0n) throw evaluationError(what);
  return value;
}

type Numbers = (a: bigint, b: bigint) => bigint;
const INTEGERS: Readonly<Record<string, Numbers>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / nonZero(b, 'division by zero'),
  '%': (a, b) => a % nonZero(b, 'modulus by zero'),
};
const DOUBLES: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

const arithmetic: Overload[] = [
  ...Object.entries(INTEGERS).flatMap(([sign, work]) => [
    overload(`_${sign}_(int, int): int`, ([a, b]) => int(work(a as bigint, b as bigint))),
    overload(`_${sign}_(uint, uint): uint`, ([a, b]) => uint(work((a as Uint).value, (b as Uint).value))),
  ]),
  ...Object.entries(DOUBLES).map(([sign, work]) =>
    overload(`_${sign}_(double, double): double`, ([a, b]) => work(a as number, b as number)),
  ),
  overload('-_(int): int', ([a]) => int(-(a as bigint))),
  overload('-_(double): double', ([a]) => -(a as number)),
  overload('!_(bool): bool', ([a]) => !(a as boolean)),
];

const sum = (shapes: readonly Shape[]) => shapes.reduce((total, { size }) => total + size, 0);

const joins: Overload[] = [
  overload('_+_(string, string): string', ([a, b]) => (a as string) + (b as string), {
    estimate: (args) => ({ cost: traversal(sum(args)), result: { size: sum(args) } }),
    cost: (args) => traversal(lengthOf(args[0]) + lengthOf(args[1])),
  }),
  overload(
    '_+_(bytes, bytes): bytes',
    ([a, b]) => Uint8Array.from([...(a as Uint8Array), ...(b as Uint8Array)]),
    {
      estimate: (args) => ({ cost: traversal(sum(args)), result: { size: sum(args) } }),
      cost: (args) => traversal(lengthOf(args[0]) + lengthOf(args[1])),
    },
  ),
  overload(
    '_+_(list<A>, list<A>): list<A>',
    ([a, b], meter) => append(a as ListValue, b as ListValue, meter),
    {
      estimate: (args) => ({
        cost: 1,
        result: { size: sum(args), element: larger(args[0]?.element, args[1]?.element) },
      }),
    },
  ),
];

const larger = (a: Shape | undefined, b: Shape | undefined): Shape =>
  (a?.size ?? 0) >= (b?.size ?? 0) ? (a ?? { size: 0 }) : (b ?? { size: 0 });

/** Lists known by their items, or by fields of them, take only what they do not have, or put it in its place. */
function append(a: ListValue, b: ListValue, meter: Meter): ListValue {
  const { identity } = a;
  if (identity === undefined) {
    return new ListValue(a.size + b.size, (index) => (index < a.size ? a.at(index) : b.at(index - a.size)));
  }
  meter.spend(a.size * b.size);
  const items = [...a];
  for (const item of b) {
    const at = items.findIndex((one) =>
      identity === 'set' ? equals(one, item) : hasKeysOf(one, item, identity),
    );
    if (at < 0) items.push(item);
    else items[at] = item;
  }
  return new ListValue(items.length, (index) => items[index] as Value, identity);
}

const hasKeysOf = (a: Value, b: Value, keys: readonly string[]) =>
  keys.every((key) => {
    const [x, y] = [memberOf(a, key), memberOf(b, key)];
    return x === undefined || y === undefined ? x === y : equals(x, y);
  });

const memberOf = (value: Value, key: string): Value | undefined =>
  typeof value === 'object' && value !== null && 'get' in value ? value.get(key) : undefined;

const times: Overload[] = [
  overload('_+_(duration, duration): duration', ([a, b]) => duration(nanos(a) + nanos(b))),
  overload('_-_(duration, duration): duration', ([a, b]) => duration(nanos(a) - nanos(b))),
  overload('_+_(timestamp, duration): timestamp', ([a, b]) => timestamp(nanos(a) + nanos(b))),
  overload('_+_(duration, timestamp): timestamp', ([a, b]) => timestamp(nanos(a) + nanos(b))),
  overload('_-_(timestamp, duration): timestamp', ([a, b]) => timestamp(nanos(a) - nanos(b))),
  overload('_-_(timestamp, timestamp): duration', ([a, b]) => duration(nanos(a) - nanos(b))),
];

const nanos = (value: Value | undefined): bigint => (value as Timestamp | Duration).nanos;

const smaller = (args: readonly Shape[]) => Math.min(args[0]?.size ?? 0, args[1]?.size ?? 0);
const comparesBoth = {
  estimate: (args: readonly Shape[]) => ({ cost: Math.max(1, traversal(smaller(args))) }),
  cost: (args: readonly Value[]) => Math.max(1, traversal(Math.min(lengthOf(args[0]), lengthOf(args[1])))),
};

const ORDERS: Readonly<Record<string, (order: number) => boolean>> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};
const ORDERED = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'];
const NUMBERS = ['int', 'uint', 'double'];
const PAIRS = [
  ...ORDERED.map((kind) => [kind, kind]),
  ...NUMBERS.flatMap((a) => NUMBERS.filter((b) => b !== a).map((b) => [a, b])),
];

const comparisons: Overload[] = Object.entries(ORDERS).flatMap(([sign, holds]) =>
  PAIRS.map(([a, b]) =>
    overload(
      `_${sign}_(${a}, ${b}): bool`,
      ([x, y]) => !hasNaN(x, y) && holds(compare(x as Value, y as Value)),
      comparesBoth,
    ),
  ),
);

const hasNaN = (...values: (Value | undefined)[]) => values.some((value) => Number.isNaN(value));

const equalities: Overload[] = [
  overload('_==_(A, A): bool', ([a, b]) => equals(a as Value, b as Value), comparesBoth),
  overload('_!=_(A, A): bool', ([a, b]) => !equals(a as Value, b as Value), comparesBoth),
];

const memberships: Overload[] = [
  overload('@in(A, list<A>): bool', ([item, list]) => includes(list as ListValue, item as Value), {
    estimate: ([, list]) => ({ cost: list?.size ?? 0 }),
    cost: ([, list]) => lengthOf(list),
  }),
  overload('@in(A, map<A, B>): bool', ([key, map]) => isMap(map) && map.get(key as Value) !== undefined),
];

export const OPERATORS: readonly Overload[] = [
  ...arithmetic,
  ...joins,
  ...times,
  ...comparisons,
  ...equalities,
  ...memberships,
];
