// Numbers: the largest and smallest of several, rounding, signs and bits.
// Guarantees: results that are no 64-bit integers are errors.
import { compare } from '../compare.js';
import { evaluationError } from '../error.js';
import { type Overload, overload } from '../signature.js';
import { type ListValue, Uint, type Value } from '../values.js';
import { int, uint } from './operators.js';

function best(values: readonly Value[], sign: 1 | -1): Value {
  const [first] = values;
  if (first === undefined) throw evaluationError('math.@min(list) argument must not be empty');
  return values.reduce((found, value) => (compare(value, found) * sign > 0 ? value : found), first);
}

const NUMBERS = ['int', 'uint', 'double', 'dyn'];
const COUNTS = [1, 2, 3, 4, 5, 6, 7, 8];

const extremes = (['greatest', 'least'] as const).flatMap((name) => {
  const sign = name === 'greatest' ? 1 : -1;
  const same = NUMBERS.flatMap((kind) => [
    ...COUNTS.map((count) =>
      overload(`math.${name}(${Array(count).fill(kind).join(', ')}): ${kind}`, (values) =>
        best(values, sign),
      ),
    ),
    overload(`math.${name}(list<${kind}>): ${kind}`, ([items]) => best([...(items as ListValue)], sign), {
      estimate: ([items]) => ({ cost: items?.size ?? 0 }),
      cost: ([items]) => (items as ListValue).size,
    }),
  ]);
  const mixed = ['int', 'uint', 'double'].flatMap((a) =>
    ['int', 'uint', 'double']
      .filter((b) => b !== a)
      .map((b) => overload(`math.${name}(${a}, ${b}): dyn`, (values) => best(values, sign))),
  );
  return [...same, ...mixed];
});

/** Half goes away from zero. */
const round = (value: number) => Math.sign(value) * Math.round(Math.abs(value));
const DOUBLES: Readonly<Record<string, (value: number) => number>> = {
  ceil: Math.ceil,
  floor: Math.floor,
  round,
  trunc: Math.trunc,
  abs: Math.abs,
  sign: Math.sign,
  sqrt: Math.sqrt,
};
const QUESTIONS: Readonly<Record<string, (value: number) => boolean>> = {
  isNaN: Number.isNaN,
  isInf: (value) => Math.abs(value) === Number.POSITIVE_INFINITY,
  isFinite: Number.isFinite,
};

const doubles = [
  ...Object.entries(DOUBLES).map(([name, work]) =>
    overload(`math.${name}(double): double`, ([value]) => work(value as number)),
  ),
  ...Object.entries(QUESTIONS).map(([name, work]) =>
    overload(`math.${name}(double): bool`, ([value]) => work(value as number)),
  ),
  overload('math.sqrt(int): double', ([value]) => Math.sqrt(Number(value))),
];

const signOf = (value: bigint) => (value > 0n ? 1n : value < 0n ? -1n : 0n);

const integers = [
  overload('math.abs(int): int', ([value]) =>
    int((value as bigint) < 0n ? -(value as bigint) : (value as bigint)),
  ),
  overload('math.abs(uint): uint', ([value]) => value as Uint),
  overload('math.sign(int): int', ([value]) => signOf(value as bigint)),
  overload('math.sign(uint): uint', ([value]) => uint(signOf((value as Uint).value))),
];

type Bits = (a: bigint, b: bigint) => bigint;
const shifted =
  (work: Bits): Bits =>
  (a, b) => {
    if (b < 0n) throw evaluationError(`math.bitShift() negative offset: ${b}`);
    return b > 63n ? 0n : work(a, b);
  };
const BITS: Readonly<Record<string, Bits>> = {
  bitAnd: (a, b) => a & b,
  bitOr: (a, b) => a | b,
  bitXor: (a, b) => a ^ b,
};
const SHIFTS: Readonly<Record<string, Bits>> = {
  bitShiftLeft: shifted((a, b) => BigInt.asIntN(64, a << b)),
  bitShiftRight: shifted((a, b) => BigInt.asUintN(64, a) >> b),
};

const bits = [
  ...Object.entries(BITS).flatMap(([name, work]) => [
    overload(`math.${name}(int, int): int`, ([a, b]) => work(a as bigint, b as bigint)),
    overload(`math.${name}(uint, uint): uint`, ([a, b]) => uint(work((a as Uint).value, (b as Uint).value))),
  ]),
  ...Object.entries(SHIFTS).flatMap(([name, work]) => [
    overload(`math.${name}(int, int): int`, ([a, b]) => BigInt.asIntN(64, work(a as bigint, b as bigint))),
    overload(
      `math.${name}(uint, int): uint`,
      ([a, b]) => new Uint(BigInt.asUintN(64, work((a as Uint).value, b as bigint))),
    ),
  ]),
  overload('math.bitNot(int): int', ([value]) => ~(value as bigint)),
  overload('math.bitNot(uint): uint', ([value]) => new Uint(BigInt.asUintN(64, ~(value as Uint).value))),
];

export const MATH: readonly Overload[] = [...extremes, ...doubles, ...integers, ...bits];
