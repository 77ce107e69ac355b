// The types of an expression: what each of its parts is, and the overloads that its calls may be.
// Guarantees: the first fault ends the check, said in Kubernetes' words with its place; linear in the tree.
import { CelError, located } from './error.js';
import { overloadsOf, TYPE_NAMES } from './library.js';
import { type Overload, SPACES } from './signature.js';
import type { Expr, Loop } from './syntax.js';
import {
  type Bindings,
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DYN,
  formatType,
  INT,
  isAssignable,
  isUnbound,
  join,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  substitute,
  TYPE,
  UINT,
} from './types.js';
import { Uint, type Value } from './values.js';

export interface Checked {
  readonly type: CelType;
  readonly types: ReadonlyMap<Expr, CelType>;
  /** The overloads that the arguments' types allow: one, or several where something is dynamic. */
  readonly overloads: ReadonlyMap<Expr, readonly Overload[]>;
  readonly variables: ReadonlySet<string>;
}

type Variables = ReadonlyMap<string, CelType>;

export function checkExpression(expr: Expr, source: string, variables: Variables): Checked {
  const checker = new Checker(source);
  const type = checker.check(expr, new Map(variables));
  return { type, types: checker.types, overloads: checker.overloads, variables: checker.used };
}

class Checker {
  readonly types = new Map<Expr, CelType>();
  readonly overloads = new Map<Expr, readonly Overload[]>();
  readonly used = new Set<string>();

  constructor(readonly source: string) {}

  check(expr: Expr, scope: Variables): CelType {
    const type = this.#typeOf(expr, scope);
    this.types.set(expr, type);
    return type;
  }

  #fault(expr: Expr, message: string): CelError {
    return new CelError('TYPE', located(this.source, expr.at, message));
  }

  #typeOf(expr: Expr, scope: Variables): CelType {
    switch (expr.op) {
      case 'const':
        return constantType(expr.value);
      case 'ident':
        return this.#ident(expr, scope);
      case 'select':
        return this.#select(expr, scope);
      case 'index':
        return this.#index(expr, scope);
      case 'has':
        this.#fieldOf(expr, this.check(expr.of, scope), expr.field);
        return BOOL;
      case 'call':
        return this.#call(expr, scope);
      case 'list':
        return listOf(this.#joined(expr.items, scope));
      case 'map':
        return this.#map(expr, scope);
      case 'and':
      case 'or':
        this.#wants(expr.left, scope, BOOL);
        this.#wants(expr.right, scope, BOOL);
        return BOOL;
      case 'if':
        return this.#if(expr, scope);
      case 'loop':
        return this.#loop(expr, scope);
      case 'bind':
        return this.check(expr.body, new Map(scope).set(expr.name, this.check(expr.value, scope)));
      default:
        return this.#optionalMap(expr, scope);
    }
  }

  #ident(expr: Expr & { op: 'ident' }, scope: Variables): CelType {
    const type = scope.get(expr.name);
    if (type !== undefined) {
      this.used.add(expr.name);
      return type;
    }
    if (TYPE_NAMES.has(expr.name)) return TYPE;
    throw this.#fault(expr, `undeclared reference to '${expr.name}' (in container '')`);
  }

  #select(expr: Expr & { op: 'select' }, scope: Variables): CelType {
    const of = this.check(expr.of, scope);
    const base = of.kind === 'optional' ? of.of : of;
    const type = this.#fieldOf(expr, base, expr.field);
    return expr.isOptional || of.kind === 'optional' ? optionalOf(type) : type;
  }

  #fieldOf(expr: Expr, of: CelType, field: string): CelType {
    if (of.kind === 'dyn' || isUnbound(of)) return DYN;
    if (of.kind === 'optional') return this.#fieldOf(expr, of.of, field);
    if (of.kind === 'map') return of.value;
    if (of.kind !== 'object')
      throw this.#fault(expr, `type '${formatType(of)}' does not support field selection`);
    const found = of.fields.get(field);
    if (found === undefined) throw this.#fault(expr, `undefined field '${field}'`);
    return found.type;
  }

  #index(expr: Expr & { op: 'index' }, scope: Variables): CelType {
    const of = this.check(expr.of, scope);
    const key = this.check(expr.key, scope);
    const base = of.kind === 'optional' ? of.of : of;
    const type = this.#elementOf(expr, base, key);
    return expr.isOptional || of.kind === 'optional' ? optionalOf(type) : type;
  }

  #elementOf(expr: Expr, of: CelType, key: CelType): CelType {
    if (of.kind === 'dyn' || isUnbound(of)) return DYN;
    const fits = (wanted: CelType) => isAssignable(wanted, key, new Map());
    if (of.kind === 'list' && fits(INT)) return of.element;
    if (of.kind === 'map' && fits(of.key)) return of.value;
    throw this.#noOverload(expr, '_[_]', [of, key]);
  }

  #noOverload(expr: Expr, name: string, args: readonly CelType[], isMember = false): CelError {
    const [target, ...rest] = args;
    const list = (types: readonly CelType[]) => `(${types.map(formatType).join(', ')})`;
    const applied = isMember && target !== undefined ? `${formatType(target)}.${list(rest)}` : list(args);
    return this.#fault(expr, `found no matching overload for '${name}' applied to '${applied}'`);
  }

  #call(expr: Expr & { op: 'call' }, scope: Variables): CelType {
    const { target } = expr;
    const isSpace = target?.op === 'ident' && !scope.has(target.name) && SPACES.has(target.name);
    const name = isSpace ? `${target.name}.${expr.name}` : expr.name;
    const receiver = target === undefined || isSpace ? [] : [target];
    const args = [...receiver, ...expr.args];
    const candidates = overloadsOf(name).filter(({ isMember }) => isMember === receiver.length > 0);
    if (candidates.length === 0)
      throw this.#fault(expr, `undeclared reference to '${name}' (in container '')`);
    const types = args.map((arg) => this.check(arg, scope));
    return this.#resolve(expr, candidates, types);
  }

  #resolve(expr: Expr & { op: 'call' }, candidates: readonly Overload[], types: readonly CelType[]): CelType {
    const fitting: Overload[] = [];
    let result: CelType | undefined;
    for (const candidate of candidates) {
      const bindings: Bindings = new Map();
      const { params } = candidate;
      if (params.length !== types.length) continue;
      if (!params.every((param, at) => isAssignable(param, types[at] as CelType, bindings))) continue;
      fitting.push(candidate);
      const own = substitute(candidate.result, bindings);
      result = result === undefined ? own : (join(result, own) ?? DYN);
    }
    if (result === undefined)
      throw this.#noOverload(expr, expr.name, types, candidates[0]?.isMember === true);
    this.overloads.set(expr, fitting);
    return result;
  }

  #joined(items: readonly Expr[], scope: Variables): CelType {
    let type: CelType = { kind: 'param', name: '_' };
    for (const item of items) {
      const own = this.check(item, scope);
      type = join(type, own) ?? DYN;
    }
    return type;
  }

  #map(expr: Expr & { op: 'map' }, scope: Variables): CelType {
    const keys = expr.entries.map(([key]) => key);
    const values = expr.entries.map(([, value]) => value);
    return mapOf(this.#joined(keys, scope), this.#joined(values, scope));
  }

  #wants(expr: Expr, scope: Variables, wanted: CelType): void {
    const type = this.check(expr, scope);
    if (isAssignable(wanted, type, new Map())) return;
    throw this.#fault(expr, `expected type '${formatType(wanted)}' but found '${formatType(type)}'`);
  }

  #if(expr: Expr & { op: 'if' }, scope: Variables): CelType {
    this.#wants(expr.test, scope, BOOL);
    const [yes, no] = [this.check(expr.yes, scope), this.check(expr.no, scope)];
    const type = join(yes, no);
    if (type === undefined) throw this.#noOverload(expr, '_?_:_', [BOOL, yes, no]);
    return type;
  }

  #loop(expr: Expr & Loop, scope: Variables): CelType {
    const range = this.check(expr.range, scope);
    const inner = new Map(scope);
    const [key, item] = this.#itemsOf(expr, range);
    const [first, second] = expr.variables as [string, string | undefined];
    if (second !== undefined) inner.set(first, key).set(second, item);
    else inner.set(first, range.kind === 'map' ? key : item);
    if (expr.filter !== undefined) this.#wants(expr.filter, inner, BOOL);
    switch (expr.kind) {
      case 'all':
      case 'exists':
      case 'existsOne':
        this.#wants(expr.body, inner, BOOL);
        return BOOL;
      case 'filter':
        this.#wants(expr.body, inner, BOOL);
        return listOf(inner.get(first) as CelType);
      case 'map':
      case 'transformList':
        return listOf(this.check(expr.body, inner));
      case 'transformMap':
        return mapOf(range.kind === 'list' ? INT : key, this.check(expr.body, inner));
      case 'transformMapEntry': {
        const entry = this.check(expr.body, inner);
        if (entry.kind === 'map') return entry;
        if (entry.kind === 'dyn') return mapOf(DYN, DYN);
        throw this.#fault(expr.body, `expected type 'map(_, _)' but found '${formatType(entry)}'`);
      }
    }
  }

  /** Index or key, and item or value. */
  #itemsOf(expr: Expr & Loop, range: CelType): readonly [CelType, CelType] {
    if (range.kind === 'list') return [INT, range.element];
    if (range.kind === 'map') return [range.key, range.value];
    if (range.kind === 'dyn' || isUnbound(range)) return [DYN, DYN];
    const message = `expression of type '${formatType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`;
    throw this.#fault(expr.range, message);
  }

  #optionalMap(expr: Expr & { op: 'optMap' | 'optFlatMap' }, scope: Variables): CelType {
    const of = this.check(expr.of, scope);
    if (of.kind !== 'optional' && of.kind !== 'dyn') throw this.#noOverload(expr, expr.op, [of], true);
    const inner = new Map(scope).set(expr.name, of.kind === 'optional' ? of.of : DYN);
    const body = this.check(expr.body, inner);
    if (expr.op === 'optMap') return optionalOf(body);
    if (body.kind !== 'optional' && body.kind !== 'dyn') throw this.#noOverload(expr, expr.op, [body], true);
    return body;
  }
}

function constantType(value: Value): CelType {
  switch (typeof value) {
    case 'bigint':
      return INT;
    case 'number':
      return DOUBLE;
    case 'string':
      return { ...STRING, maxSize: value.length };
    case 'boolean':
      return BOOL;
  }
  if (value === null) return NULL;
  return value instanceof Uint ? UINT : BYTES;
}
