// What an expression costs at worst, from its tree and the bounds that a schema states.
// Guarantees: an upper bound in the units of the limits; computed once per node, so linear in the tree.
import type { Checked } from './check.js';
import type { Overload, Shape } from './signature.js';
import type { Expr, Loop } from './syntax.js';
import type { CelType } from './types.js';

/** The most bytes of a request: nothing that is not bounded otherwise is larger. */
export const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

const UNIT = 1;
const LIST = 10;
const MAP = 30;
/** Per round: asking whether to go on, and keeping what was found. */
const ROUND = 3;

interface Estimate {
  readonly cost: number;
  readonly shape: Shape;
}

export function estimateCost(expr: Expr, checked: Checked, variables: ReadonlyMap<string, CelType>): number {
  const scope = new Map(Array.from(variables, ([name, type]) => [name, shapeOfType(type)]));
  return new Estimator(checked).estimate(expr, scope).cost;
}

/** Lazily, as types may nest deeply. */
function shapeOfType(type: CelType): Shape {
  const size = 'maxSize' in type && type.maxSize !== undefined ? type.maxSize : defaultSize(type);
  if (type.kind !== 'list' && type.kind !== 'map') return { size };
  const inner = type.kind === 'list' ? type.element : type.value;
  return {
    size,
    get element() {
      return shapeOfType(inner);
    },
  };
}

const UNBOUNDED = new Set(['string', 'bytes', 'list', 'map', 'dyn']);
const defaultSize = ({ kind }: CelType) => (UNBOUNDED.has(kind) ? MAX_REQUEST_BYTES : 1);

class Estimator {
  readonly #checked: Checked;

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  estimate(expr: Expr, scope: ReadonlyMap<string, Shape>): Estimate {
    switch (expr.op) {
      case 'const':
        return { cost: 0, shape: { size: typeof expr.value === 'string' ? expr.value.length : 1 } };
      case 'ident':
        return { cost: UNIT, shape: scope.get(expr.name) ?? { size: 1 } };
      case 'select':
      case 'has':
        return { cost: this.estimate(expr.of, scope).cost + UNIT, shape: this.#declared(expr) };
      case 'index': {
        const of = this.estimate(expr.of, scope);
        const cost = of.cost + this.estimate(expr.key, scope).cost + UNIT;
        return { cost, shape: of.shape.element ?? this.#declared(expr) };
      }
      case 'call':
        return this.#call(expr, scope);
      case 'list':
        return this.#several(expr.items, scope, LIST);
      case 'map':
        return this.#several(expr.entries.flat(), scope, MAP);
      case 'and':
      case 'or': {
        const cost = this.estimate(expr.left, scope).cost + this.estimate(expr.right, scope).cost;
        return { cost, shape: { size: 1 } };
      }
      case 'if':
        return this.#if(expr, scope);
      case 'loop':
        return this.#loop(expr, scope);
      case 'bind': {
        const value = this.estimate(expr.value, scope);
        const body = this.estimate(expr.body, new Map(scope).set(expr.name, value.shape));
        return { cost: value.cost + body.cost + UNIT, shape: body.shape };
      }
      default: {
        const of = this.estimate(expr.of, scope);
        const body = this.estimate(expr.body, new Map(scope).set(expr.name, of.shape));
        return { cost: of.cost + body.cost + UNIT, shape: body.shape };
      }
    }
  }

  #declared(expr: Expr): Shape {
    const type = this.#checked.types.get(expr);
    return type === undefined ? { size: 1 } : shapeOfType(type.kind === 'optional' ? type.of : type);
  }

  #call(expr: Expr & { op: 'call' }, scope: ReadonlyMap<string, Shape>): Estimate {
    const overloads = this.#checked.overloads.get(expr) ?? [];
    const isMember = overloads[0]?.isMember === true;
    const args = expr.target !== undefined && isMember ? [expr.target, ...expr.args] : expr.args;
    const estimates = args.map((arg) => this.estimate(arg, scope));
    const before = estimates.reduce((total, { cost }) => total + cost, 0);
    const shapes = estimates.map(({ shape }) => shape);
    const calls = overloads.map((overload) => callEstimate(overload, shapes));
    const worst = calls.reduce((a, b) => (b.cost > a.cost ? b : a), { cost: UNIT });
    const results = calls.flatMap(({ result }) => result ?? []);
    const result = results.reduce<Shape | undefined>(
      (a, b) => (a !== undefined && a.size >= b.size ? a : b),
      undefined,
    );
    return { cost: before + worst.cost, shape: result ?? this.#declared(expr) };
  }

  #several(items: readonly Expr[], scope: ReadonlyMap<string, Shape>, base: number): Estimate {
    const estimates = items.map((item) => this.estimate(item, scope));
    const cost = estimates.reduce((total, one) => total + one.cost, base);
    const element = estimates.reduce<Shape>((a, { shape }) => (shape.size > a.size ? shape : a), { size: 0 });
    return { cost, shape: { size: items.length, element } };
  }

  #if(expr: Expr & { op: 'if' }, scope: ReadonlyMap<string, Shape>): Estimate {
    const test = this.estimate(expr.test, scope);
    const [yes, no] = [this.estimate(expr.yes, scope), this.estimate(expr.no, scope)];
    const shape = yes.shape.size >= no.shape.size ? yes.shape : no.shape;
    return { cost: test.cost + Math.max(yes.cost, no.cost), shape };
  }

  #loop(expr: Expr & Loop, scope: ReadonlyMap<string, Shape>): Estimate {
    const range = this.estimate(expr.range, scope);
    const item = range.shape.element ?? { size: MAX_REQUEST_BYTES };
    const inner = new Map(scope);
    for (const name of expr.variables) inner.set(name, item);
    const filter = expr.filter === undefined ? 0 : this.estimate(expr.filter, inner).cost;
    const body = this.estimate(expr.body, inner);
    const cost = range.cost + UNIT + range.shape.size * (ROUND + filter + body.cost);
    const element = expr.kind === 'filter' ? item : body.shape;
    return { cost, shape: isList(expr) ? { size: range.shape.size, element } : { size: 1 } };
  }
}

const isList = ({ kind }: Loop) => kind !== 'all' && kind !== 'exists' && kind !== 'existsOne';

const callEstimate = ({ estimate }: Overload, shapes: readonly Shape[]) =>
  estimate === undefined ? { cost: UNIT } : estimate(shapes);
