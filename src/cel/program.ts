// A checked expression as a function that runs it.
// Guarantees: never more than its limit of work, whatever the data; an error on one side of && or || yields to an answer on
// the other side; too much work is never taken for an answer.
import { spendWork } from '../api/workLimit.js';
import type { Checked } from './check.js';
import { kindOf } from './compare.js';
import { CelError, evaluationError } from './error.js';
import { TYPE_NAMES } from './library.js';
import type { Meter, Overload } from './signature.js';
import type { Expr, Loop } from './syntax.js';
import type { CelType } from './types.js';
import { isMap, isObject, ListValue, mapValue, OptionalValue, TypeValue, type Value } from './values.js';

export class Budget implements Meter {
  #used = 0;

  constructor(readonly limit: number) {}

  get used(): number {
    return this.#used;
  }

  spend(cost: number): void {
    this.#used += cost;
    if (this.#used > this.limit)
      throw new CelError('COST', 'operation cancelled: actual cost limit exceeded');
    spendWork(cost);
  }
}

interface Frame {
  readonly slots: (Value | undefined)[];
  readonly budget: Budget;
}

type Step = (frame: Frame) => Value;
/** Where each variable lies in a frame. */
type Slots = ReadonlyMap<string, number>;

type Program = (variables: ReadonlyMap<string, Value>, budget: Budget) => Value;

export function makeProgram(expr: Expr, checked: Checked, names: Iterable<string>): Program {
  const slots = new Map(Array.from(names, (name, at) => [name, at]));
  const step = new Compiler(checked).compile(expr, slots);
  return (variables, budget) => {
    const frame: Frame = { slots: [], budget };
    for (const [name, at] of slots) frame.slots[at] = variables.get(name);
    return step(frame);
  };
}

class Compiler {
  readonly #checked: Checked;

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  compile(expr: Expr, slots: Slots): Step {
    switch (expr.op) {
      case 'const': {
        const { value } = expr;
        return () => value;
      }
      case 'ident':
        return identStep(expr.name, slots);
      case 'select':
        return this.#select(expr, slots);
      case 'has':
        return this.#has(expr, slots);
      case 'index':
        return this.#index(expr, slots);
      case 'call':
        return this.#call(expr, slots);
      case 'list':
        return this.#list(expr, slots);
      case 'map':
        return this.#map(expr, slots);
      case 'and':
        return decides(this.compile(expr.left, slots), this.compile(expr.right, slots), false);
      case 'or':
        return decides(this.compile(expr.left, slots), this.compile(expr.right, slots), true);
      case 'if':
        return this.#if(expr, slots);
      case 'loop':
        return this.#loop(expr, slots);
      case 'bind': {
        const [value, at] = [this.compile(expr.value, slots), slots.size];
        const body = this.compile(expr.body, withVariables(slots, [expr.name]));
        return (frame) => {
          frame.slots[at] = value(frame);
          return body(frame);
        };
      }
      default:
        return this.#optionalMap(expr, slots);
    }
  }

  #select({ of, field, isOptional }: Expr & { op: 'select' }, slots: Slots): Step {
    const base = this.compile(of, slots);
    return (frame) => {
      frame.budget.spend(1);
      return member(base(frame), field, { isOptional });
    };
  }

  #has({ of, field }: Expr & { op: 'has' }, slots: Slots): Step {
    const base = this.compile(of, slots);
    return (frame) => {
      frame.budget.spend(1);
      const value = base(frame);
      const inner = value instanceof OptionalValue ? value.value : value;
      if (inner === undefined) return false;
      return fieldOf(inner, field) !== undefined;
    };
  }

  #index({ of, key, isOptional }: Expr & { op: 'index' }, slots: Slots): Step {
    const [base, at] = [this.compile(of, slots), this.compile(key, slots)];
    return (frame) => {
      frame.budget.spend(1);
      return element(base(frame), at(frame), { isOptional });
    };
  }

  #call(expr: Expr & { op: 'call' }, slots: Slots): Step {
    const overloads = this.#checked.overloads.get(expr) ?? [];
    const isMember = overloads[0]?.isMember === true;
    const exprs = expr.target !== undefined && isMember ? [expr.target, ...expr.args] : expr.args;
    const args = exprs.map((arg) => this.compile(arg, slots));
    const isSure = overloads.length === 1 && exprs.every((arg) => !isDynamic(this.#checked.types.get(arg)));
    const only = isSure ? overloads[0] : undefined;
    return (frame) => {
      const actual = args.map((arg) => arg(frame));
      const chosen = only ?? choose(overloads, actual);
      frame.budget.spend(chosen.cost === undefined ? 1 : chosen.cost(actual));
      return chosen.run(actual, frame.budget);
    };
  }

  #list({ items }: Expr & { op: 'list' }, slots: Slots): Step {
    const steps = items.map((item) => this.compile(item, slots));
    return (frame) => {
      frame.budget.spend(10);
      return ListValue.of(steps.map((step) => step(frame)));
    };
  }

  #map({ entries }: Expr & { op: 'map' }, slots: Slots): Step {
    const steps = entries.map(
      ([key, value]) => [this.compile(key, slots), this.compile(value, slots)] as const,
    );
    return (frame) => {
      frame.budget.spend(30);
      return mapValue(steps.map(([key, value]) => [key(frame), value(frame)] as const));
    };
  }

  #if({ test, yes, no }: Expr & { op: 'if' }, slots: Slots): Step {
    const [condition, first, second] = [test, yes, no].map((part) => this.compile(part, slots)) as [
      Step,
      Step,
      Step,
    ];
    return (frame) => (truth(condition(frame)) ? first(frame) : second(frame));
  }

  #optionalMap(expr: Expr & { op: 'optMap' | 'optFlatMap' }, slots: Slots): Step {
    const [of, at] = [this.compile(expr.of, slots), slots.size];
    const body = this.compile(expr.body, withVariables(slots, [expr.name]));
    return (frame) => {
      frame.budget.spend(1);
      const value = of(frame);
      if (!(value instanceof OptionalValue)) throw noOverload();
      if (value.value === undefined) return value;
      frame.slots[at] = value.value;
      const result = body(frame);
      return expr.op === 'optMap' ? new OptionalValue(result) : result;
    };
  }

  #loop(expr: Expr & Loop, slots: Slots): Step {
    const range = this.compile(expr.range, slots);
    const first = slots.size;
    const inner = withVariables(slots, expr.variables);
    const body = this.compile(expr.body, inner);
    const filter = expr.filter && this.compile(expr.filter, inner);
    const isPair = expr.variables.length === 2;
    const rounds = (frame: Frame) => roundsOf(range(frame), frame, { first, isPair });
    return runLoop(expr.kind, { rounds, body, filter, first });
  }
}

/** Places follow the size of the table; a name that hides an outer one leaves a gap, so that no place is used twice. */
function withVariables(slots: Slots, names: readonly string[]): Slots {
  const inner = new Map(slots);
  for (const [offset, name] of names.entries()) inner.set(name, slots.size + offset);
  for (let at = inner.size; at < slots.size + names.length; at += 1) inner.set(` ${at}`, at);
  return inner;
}

function identStep(name: string, slots: Slots): Step {
  const at = slots.get(name);
  if (at === undefined) {
    const type = new TypeValue(TYPE_NAMES.get(name) ?? name);
    return () => type;
  }
  return ({ slots: values, budget }) => {
    budget.spend(1);
    const value = values[at];
    if (value === undefined) throw evaluationError(`no such attribute(s): ${name}`);
    return value;
  };
}

const noOverload = () => new CelError('NO_OVERLOAD', 'no such overload');

function truth(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  throw noOverload();
}

/** The side that decides wins, also over an error of the other one. */
function decides(left: Step, right: Step, decisive: boolean): Step {
  return (frame) => {
    let fault: unknown;
    try {
      if (truth(left(frame)) === decisive) return decisive;
    } catch (error) {
      if (isFatal(error)) throw error;
      fault = error;
    }
    if (truth(right(frame)) === decisive) return decisive;
    if (fault !== undefined) throw fault;
    return !decisive;
  };
}

const isFatal = (error: unknown) => !(error instanceof CelError) || error.code === 'COST';

const isDynamic = (type: CelType | undefined): boolean => {
  if (type === undefined || type.kind === 'dyn' || type.kind === 'param') return true;
  if (type.kind === 'list') return isDynamic(type.element);
  if (type.kind === 'map') return isDynamic(type.key) || isDynamic(type.value);
  return type.kind === 'optional' && isDynamic(type.of);
};

/** By what the arguments are now; of a list only its kind counts. */
function choose(overloads: readonly Overload[], args: readonly Value[]): Overload {
  const fits = ({ params }: Overload) =>
    params.every((param, at) => {
      if (param.kind === 'dyn' || param.kind === 'param') return true;
      return param.kind === kindOf(args[at] as Value);
    });
  const found =
    overloads.find((one) => fits(one) && one.params.some(({ kind }) => kind !== 'dyn')) ??
    overloads.find(fits);
  if (found === undefined) throw noOverload();
  return found;
}

function fieldOf(of: Value, field: string): Value | undefined {
  if (isObject(of)) return of.get(field);
  if (isMap(of)) return of.get(field);
  throw noOverload();
}

interface Access {
  readonly isOptional: boolean;
}

function member(of: Value, field: string, { isOptional }: Access): Value {
  if (of instanceof OptionalValue || isOptional) {
    const inner = of instanceof OptionalValue ? of.value : of;
    const found = inner === undefined ? undefined : fieldOf(inner, field);
    return found === undefined ? OptionalValue.none : new OptionalValue(found);
  }
  const found = fieldOf(of, field);
  if (found === undefined) throw evaluationError(`no such key: ${field}`);
  return found;
}

function element(of: Value, key: Value, { isOptional }: Access): Value {
  if (of instanceof OptionalValue || isOptional) {
    const inner = of instanceof OptionalValue ? of.value : of;
    const found = inner === undefined ? undefined : itemOf(inner, key);
    return found === undefined ? OptionalValue.none : new OptionalValue(found);
  }
  const found = itemOf(of, key);
  if (found !== undefined) return found;
  throw evaluationError(
    of instanceof ListValue ? `index out of bounds: ${String(key)}` : `no such key: ${String(key)}`,
  );
}

function itemOf(of: Value, key: Value): Value | undefined {
  if (isMap(of)) return of.get(key);
  if (isObject(of) && typeof key === 'string') return of.get(key);
  if (!(of instanceof ListValue)) throw noOverload();
  if (typeof key !== 'bigint' && !Number.isInteger(key)) throw noOverload();
  const at = Number(key);
  return at >= 0 && at < of.size ? of.at(at) : undefined;
}

/** One round per item or entry: puts it into its places, and tells the key. */
function* roundsOf(
  range: Value,
  { slots, budget }: Frame,
  { first, isPair }: { readonly first: number; readonly isPair: boolean },
): Generator<Value, void> {
  if (range instanceof ListValue) {
    for (let at = 0; at < range.size; at += 1) {
      budget.spend(3);
      const key = isPair ? BigInt(at) : at;
      slots[first] = isPair ? key : range.at(at);
      if (isPair) slots[first + 1] = range.at(at);
      yield key;
    }
    return;
  }
  if (!isMap(range)) throw noOverload();
  for (const key of range.keys()) {
    budget.spend(3);
    slots[first] = key;
    if (isPair) slots[first + 1] = range.get(key) as Value;
    yield key;
  }
}

interface LoopParts {
  readonly rounds: (frame: Frame) => Generator<Value, void>;
  readonly body: Step;
  readonly filter: Step | undefined;
  readonly first: number;
}

function runLoop(kind: Loop['kind'], parts: LoopParts): Step {
  switch (kind) {
    case 'all':
      return quantifier(parts, false);
    case 'exists':
      return quantifier(parts, true);
    case 'existsOne':
      return existsOne(parts);
    case 'filter':
      return (frame) => {
        const kept: Value[] = [];
        for (const _ of parts.rounds(frame)) {
          const item = frame.slots[parts.first] as Value;
          if (truth(parts.body(frame))) kept.push(item);
        }
        return ListValue.of(kept);
      };
    case 'map':
    case 'transformList':
      return (frame) => {
        const made: Value[] = [];
        for (const _ of parts.rounds(frame)) if (passes(parts, frame)) made.push(parts.body(frame));
        return ListValue.of(made);
      };
    case 'transformMap':
      return (frame) => {
        const made: [Value, Value][] = [];
        for (const key of parts.rounds(frame)) if (passes(parts, frame)) made.push([key, parts.body(frame)]);
        return mapValue(made);
      };
    case 'transformMapEntry':
      return transformEntries(parts);
  }
}

const passes = ({ filter }: LoopParts, frame: Frame) => filter === undefined || truth(filter(frame));

function quantifier({ rounds, body }: LoopParts, decisive: boolean): Step {
  return (frame) => {
    let fault: unknown;
    for (const _ of rounds(frame)) {
      try {
        if (truth(body(frame)) === decisive) return decisive;
      } catch (error) {
        if (isFatal(error)) throw error;
        fault ??= error;
      }
    }
    if (fault !== undefined) throw fault;
    return !decisive;
  };
}

function existsOne({ rounds, body }: LoopParts): Step {
  return (frame) => {
    let count = 0;
    for (const _ of rounds(frame)) if (truth(body(frame))) count += 1;
    return count === 1;
  };
}

function transformEntries(parts: LoopParts): Step {
  return (frame) => {
    const made = new Map<string, readonly [Value, Value]>();
    for (const _ of parts.rounds(frame)) {
      if (!passes(parts, frame)) continue;
      const entry = parts.body(frame);
      if (!isMap(entry)) throw noOverload();
      for (const key of entry.keys()) {
        const text = `${kindOf(key)} ${String(key)}`;
        if (made.has(text)) throw evaluationError(`insert failed: key ${String(key)} already exists`);
        made.set(text, [key, entry.get(key) as Value]);
      }
    }
    return mapValue(made.values());
  };
}
