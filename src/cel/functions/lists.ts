// Lists: order, sums, extremes, positions, slices and sets of them.
// Guarantees: one pass over a list, counted before it is made; comparing every item with every other counts as that.
import { compare, equals, includes, kindOf } from '../compare.js';
import { CelError, evaluationError } from '../error.js';
import {
  type CallEstimate,
  lengthOf,
  type Meter,
  type Overload,
  overload,
  type Shape,
  traversal,
} from '../signature.js';
import { duration } from '../time.js';
import { type Duration, ListValue, type Uint, type Value } from '../values.js';
import { int, uint } from './operators.js';

const list = (value: Value | undefined) => value as ListValue;

const perItem = ([items]: readonly Shape[]): CallEstimate => {
  const { size = 0, element } = items ?? {};
  return { cost: size * (1 + traversal(element?.size ?? 0)), result: element ?? { size: 0 } };
};
const onePass: Pick<Overload, 'estimate' | 'cost'> = {
  estimate: perItem,
  cost: ([items]) => lengthOf(items),
};

const COMPARABLE = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes', 'dyn'];
const SUMMABLE = ['int', 'uint', 'double', 'duration', 'dyn'];

function isSorted(items: ListValue): boolean {
  for (let at = 1; at < items.size; at += 1) if (compare(items.at(at - 1), items.at(at)) > 0) return false;
  return true;
}

function extreme(items: ListValue, sign: 1 | -1, name: string): Value {
  if (items.size === 0) throw evaluationError(`${name} called on empty list`);
  let best = items.at(0);
  for (const item of items) if (compare(item, best) * sign > 0) best = item;
  return best;
}

function sum(items: ListValue): Value {
  if (items.size === 0) return 0n;
  const first = items.at(0);
  const add = ADDERS[kindOf(first) as keyof typeof ADDERS];
  if (add === undefined) throw new CelError('NO_OVERLOAD', 'no such overload');
  let total = first;
  for (let at = 1; at < items.size; at += 1) {
    if (kindOf(items.at(at)) !== kindOf(first)) throw new CelError('NO_OVERLOAD', 'no such overload');
    total = add(total, items.at(at));
  }
  return total;
}

const ADDERS = {
  int: (a: Value, b: Value): Value => int((a as bigint) + (b as bigint)),
  uint: (a: Value, b: Value): Value => uint((a as Uint).value + (b as Uint).value),
  double: (a: Value, b: Value): Value => (a as number) + (b as number),
  duration: (a: Value, b: Value): Value => duration((a as Duration).nanos + (b as Duration).nanos),
};

/** A sum of nothing is the zero of its type. */
const ZEROS: Readonly<Record<string, () => Value>> = {
  uint: () => uint(0n),
  double: () => 0,
  duration: () => duration(0n),
};

const sums = SUMMABLE.map((kind) =>
  overload(
    `list<${kind}>.sum(): ${kind}`,
    ([items]) => (list(items).size === 0 ? (ZEROS[kind]?.() ?? 0n) : sum(list(items))),
    onePass,
  ),
);

const orders = COMPARABLE.flatMap((kind) => [
  overload(`list<${kind}>.isSorted(): bool`, ([items]) => isSorted(list(items)), onePass),
  overload(`list<${kind}>.min(): ${kind}`, ([items]) => extreme(list(items), -1, 'min'), onePass),
  overload(`list<${kind}>.max(): ${kind}`, ([items]) => extreme(list(items), 1, 'max'), onePass),
]);

function position(items: ListValue, wanted: Value, from: 'first' | 'last'): bigint {
  for (let step = 0; step < items.size; step += 1) {
    const at = from === 'first' ? step : items.size - 1 - step;
    if (equals(items.at(at), wanted)) return BigInt(at);
  }
  return -1n;
}

const positions = [
  overload(
    'list<A>.indexOf(A): int',
    ([items, item]) => position(list(items), item as Value, 'first'),
    onePass,
  ),
  overload(
    'list<A>.lastIndexOf(A): int',
    ([items, item]) => position(list(items), item as Value, 'last'),
    onePass,
  ),
];

function slice(items: ListValue, from: bigint, to: bigint): ListValue {
  if (from < 0n || to > BigInt(items.size) || from > to)
    throw evaluationError(`cannot slice(${from}, ${to}), list has length ${items.size}`);
  const start = Number(from);
  return new ListValue(Number(to - from), (index) => items.at(start + index));
}

function distinct(items: ListValue, meter: Meter): ListValue {
  const found: Value[] = [];
  for (const item of items) {
    meter.spend(found.length);
    if (!found.some((one) => equals(one, item))) found.push(item);
  }
  return ListValue.of(found);
}

function flatten(items: ListValue, depth: bigint, meter: Meter): ListValue {
  if (depth < 0n) throw evaluationError('level must be non-negative');
  const flat: Value[] = [];
  for (const item of items) {
    const inner = item instanceof ListValue && depth > 0n ? flatten(item, depth - 1n, meter) : undefined;
    meter.spend(inner?.size ?? 1);
    if (inner === undefined) flat.push(item);
    else for (const one of inner) flat.push(one);
  }
  return ListValue.of(flat);
}

function range(count: bigint, meter: Meter): ListValue {
  if (count < 0n) return ListValue.of([]);
  meter.spend(Number(count));
  return new ListValue(Number(count), (index) => BigInt(index));
}

const sorted = (items: ListValue, meter: Meter): ListValue => {
  meter.spend(items.size * Math.ceil(Math.log2(items.size + 1)));
  return ListValue.of([...items].sort(compare));
};

const same = ([items]: readonly Shape[]): CallEstimate => ({
  cost: items?.size ?? 0,
  ...(items && { result: items }),
});
const squared = ([items]: readonly Shape[]): CallEstimate => ({
  cost: (items?.size ?? 0) ** 2,
  ...(items && { result: items }),
});

const shapes = [
  overload(
    'list<A>.slice(int, int): list<A>',
    ([items, from, to]) => slice(list(items), from as bigint, to as bigint),
    {
      estimate: same,
    },
  ),
  overload('list<A>.distinct(): list<A>', ([items], meter) => distinct(list(items), meter), {
    estimate: squared,
  }),
  overload(
    'list<A>.reverse(): list<A>',
    ([items]) => {
      const all = list(items);
      return new ListValue(all.size, (index) => all.at(all.size - 1 - index));
    },
    { estimate: same },
  ),
  overload('list<A>.flatten(): list<dyn>', ([items], meter) => flatten(list(items), 1n, meter), {
    estimate: same,
  }),
  overload(
    'list<A>.flatten(int): list<dyn>',
    ([items, depth], meter) => flatten(list(items), depth as bigint, meter),
    {
      estimate: same,
    },
  ),
  overload('lists.range(int): list<int>', ([count], meter) => range(count as bigint, meter), {
    estimate: () => ({ cost: 1, result: { size: 1_000_000, element: { size: 1 } } }),
  }),
  ...COMPARABLE.map((kind) =>
    overload(`list<${kind}>.sort(): list<${kind}>`, ([items], meter) => sorted(list(items), meter), {
      estimate: squared,
    }),
  ),
];

const product: Pick<Overload, 'estimate' | 'cost'> = {
  estimate: ([a, b]) => ({ cost: (a?.size ?? 0) * (b?.size ?? 0) }),
  cost: ([a, b]) => lengthOf(a) * lengthOf(b),
};
const containsAll = (a: ListValue, b: ListValue) => {
  for (const item of b) if (!includes(a, item)) return false;
  return true;
};
const intersects = (a: ListValue, b: ListValue) => {
  for (const item of a) if (includes(b, item)) return true;
  return false;
};

const sets = [
  overload('sets.contains(list<A>, list<A>): bool', ([a, b]) => containsAll(list(a), list(b)), product),
  overload(
    'sets.equivalent(list<A>, list<A>): bool',
    ([a, b]) => containsAll(list(a), list(b)) && containsAll(list(b), list(a)),
    product,
  ),
  overload('sets.intersects(list<A>, list<A>): bool', ([a, b]) => intersects(list(a), list(b)), product),
];

export const LISTS: readonly Overload[] = [...sums, ...orders, ...positions, ...shapes, ...sets];
